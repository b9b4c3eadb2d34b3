/** One process in the picture. */
import type { PageProcess } from '../page-data.ts';
import { type Box, type CellGrid, cellAt, type Group } from './cluster-layout.ts';
import { compactText, rateText } from './format.ts';
import { activityText, hasWord, MARK_WORDS, type Mark, markOf } from './marks.ts';
import { cellsText, type UnitCell } from './unit-cells.ts';

/** In a square of 12: a dot, a pause, a triangle, a cross and a diamond. */
const SIGNS: Readonly<Record<Mark, string>> = {
  working: 'M6 2.5a3.5 3.5 0 1 0 .01 0Z',
  waiting: 'M3 2h2v8H3ZM7 2h2v8H7Z',
  slow: 'M6 1L11.5 11H.5Z',
  silent: 'M2.4 1L6 4.6 9.6 1 11 2.4 7.4 6 11 9.6 9.6 11 6 7.4 2.4 11 1 9.6 4.6 6 1 2.4Z',
  strange: 'M6 .5L11.5 6 6 11.5 .5 6Z',
};

export const MarkSign = ({ mark }: { readonly mark: Mark }) => (
  <svg class={`mark ${mark}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
    <path d={SIGNS[mark]} />
  </svg>
);

const Marked = ({ mark, isTold }: { readonly mark: Mark; readonly isTold: boolean }) => (
  <>
    <MarkSign mark={mark} />
    <span class={isTold ? 'word' : 'unseen'}>{MARK_WORDS[mark]}</span>
  </>
);

export interface ProcessBoxProps {
  readonly process: PageProcess;
  readonly box: Box;
  readonly group: Group;
  /** Units of a pserver; empty for other roles. */
  readonly cells: readonly UnitCell[];
}

export function ProcessBox({ process, box, group, cells }: ProcessBoxProps) {
  const { key, role, id, rate } = process;
  const activity = activityText(process);
  const { room, cell } = group;
  const mark = markOf(process);
  const isDense = room === 'dense';
  const [left, top] = [`${box.x}px`, `${box.y}px`];
  const rateOf = rate === undefined ? '' : isDense ? `${compactText(rate)}/s` : rateText(rate, process.rateOf);
  const isPserver = role === 'pserver';
  const title = [key, MARK_WORDS[mark], activity, rateOf, isPserver ? cellsText(cells) : '']
    .filter(Boolean)
    .join(' · ');
  return (
    <li
      class={`box ${room} ${mark}`}
      title={title}
      style={{ left, top, width: `${box.width}px`, height: `${box.height}px` }}
    >
      <div class="name">
        <b>{role === 'master' || (isPserver && room === 'roomy') ? key : id}</b>
        {!isDense && <Marked mark={mark} isTold={hasWord(mark)} />}
      </div>
      {!isDense && <div class="activity">{activity}</div>}
      {room === 'roomy' && <div class="rate">{rateOf}</div>}
      {isDense && (
        <div class="rate">
          <Marked mark={mark} isTold={false} /> {rateOf}
        </div>
      )}
      {isPserver && <Cells cells={cells} grid={cell} />}
    </li>
  );
}

function Cells({ cells, grid }: { readonly cells: readonly UnitCell[]; readonly grid: CellGrid | undefined }) {
  const text = cellsText(cells);
  if (grid === undefined) return <div class="rate">{text}</div>;
  const { size, height } = grid;
  return (
    <svg class="cells" width="100%" height={height} role="img" aria-label={text}>
      {cells.map(({ unit, kind, title }, at) => {
        const { x, y } = cellAt(grid, at);
        const inset = kind === 'led' ? 0 : 0.75;
        const side = size - 2 * inset;
        return (
          <rect key={unit} class={kind} x={x + inset} y={y + inset} width={side} height={side} rx={size > 6 ? 2 : 1}>
            <title>{title}</title>
          </rect>
        );
      })}
    </svg>
  );
}
