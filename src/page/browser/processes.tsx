/** The table of processes; a card for each where the page is narrow. */
import type { PageJob, PageProcess } from '../page-data.ts';
import { bytesText, rateText } from './format.ts';
import { activityText, hasWord, MARK_WORDS, markOf, mostTroubled } from './marks.ts';
import { Panel, useShowAll } from './parts.tsx';
import { MarkSign } from './process-box.tsx';

const MOST_SHOWN = 14;
const COLUMNS = ['Process', 'Activity', 'Speed', 'Memory', 'Time', 'Notes'] as const;
const NUMBERS: readonly string[] = ['Speed', 'Memory'];

export function Processes({ job: { processes } }: { readonly job: PageJob }) {
  const { most, button } = useShowAll(processes.length, MOST_SHOWN, 'processes');
  const hidden = processes.length - most;
  return (
    <Panel
      id="processes"
      title="Processes"
      note={hidden > 0 ? `${most} of ${processes.length}, those with trouble first` : undefined}
    >
      <table class="processes">
        <thead>
          <tr>
            {COLUMNS.map((name) => (
              <th key={name} scope="col" class={NUMBERS.includes(name) ? 'number' : ''}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {mostTroubled(processes, most).map((process) => (
            <Row key={process.key} process={process} />
          ))}
        </tbody>
      </table>
      {button}
    </Panel>
  );
}

function Row({ process }: { readonly process: PageProcess }) {
  const { key, address, host, pid, rate, rateOf, bytes, time, slow, errors } = process;
  const mark = markOf(process);
  const place = [host, pid === undefined ? undefined : `pid ${pid}`, address].filter(Boolean).join(' · ');
  return (
    <tr class={mark}>
      <th scope="row">
        {key} <small>{place}</small>
      </th>
      <td>
        <span class="state">
          <MarkSign mark={mark} /> <span class={hasWord(mark) ? 'word' : 'unseen'}>{MARK_WORDS[mark]}</span>
        </span>{' '}
        {activityText(process)}
      </td>
      <td data-name="Speed" class="number">
        {rate === undefined ? '' : rateText(rate, rateOf)}
      </td>
      <td data-name="Memory" class="number">
        {bytes === undefined ? '' : bytesText(bytes)}
      </td>
      <td>
        <Shares time={time} />
      </td>
      <td class="notes">
        {slow !== undefined && <div class="slow">{slow}</div>}
        {errors.map(({ time: at, text }) => (
          <div key={`${at} ${text}`} class="error">
            {text}
          </div>
        ))}
      </td>
    </tr>
  );
}

const SHARES_TOLD = 3;

function Shares({ time }: { readonly time: PageProcess['time'] }) {
  if (time.length === 0) return null;
  const told = time.slice(0, SHARES_TOLD);
  return (
    <div class="shares">
      <div class="stack" aria-hidden="true">
        {told.map(({ phase, percent }) => (
          <i key={phase} style={{ width: `${percent}%` }} />
        ))}
      </div>
      {told.map(({ phase, percent }) => `${phase} ${percent}\u00a0%`).join(', ')}
    </div>
  );
}
