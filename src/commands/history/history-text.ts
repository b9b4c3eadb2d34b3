/** The curves of a job, for people. */
import { isoTime } from '../../host/clock.ts';
import { bytesText } from '../base/bytes-text.ts';
import { curveText } from '../base/curve-text.ts';
import type { HistoryLine, TableLine } from '../base/history-lines.ts';
import { atText, SHOWN_METRICS } from '../base/result-text.ts';
import type { MakeTable } from '../base/table.ts';

export function historyText(job: string, lines: readonly HistoryLine[], table: MakeTable, width: number): string {
  if (lines.length === 0) return `job ${job} has no points yet`;
  const shown = SHOWN_METRICS.filter(([, metric]) => lines.some((line) => line[metric] !== undefined));
  const topKs = new Set(lines.flatMap(({ topK }) => topK ?? []));
  const [topK] = topKs;
  const heads = shown.map(([called, metric]) => `${called}${topKs.size > 1 ? '' : atText(metric, { topK })}`);
  const numbers = ['pass', 'trained', 'records', ...heads].map((head) => ({ head, align: 'right' as const }));
  const curve = curveText(lines, width);
  return [
    table(
      [{ head: 'time' }, { head: 'what' }, ...numbers],
      lines.map((line) => cells(line, shown)),
    ),
    ...(curve === undefined ? [] : [curve]),
  ].join('\n');
}

/** The tables with admission, eviction or a bound, pass by pass. Empty if the job has none. */
export function tablesText(lines: readonly TableLine[], table: MakeTable): string[] {
  if (lines.length === 0) return [];
  const right = (head: string) => ({ head, align: 'right' as const });
  const heads = ['rows', 'candidates', 'size', 'admitted', 'not admitted', 'refused', 'evicted rows'].map(right);
  const rows = lines.map(({ name, passes, rows: has, candidates, bytes, admitted, notAdmitted, refused, evicted }) => [
    ...[name, passes, has, candidates, bytesText(bytes), admitted, notAdmitted, refused],
    evicted.bound.rows + evicted.unseen.rows,
  ]);
  return [table([{ head: 'table' }, right('passes'), ...heads], rows)];
}

function cells(line: HistoryLine, shown: readonly (typeof SHOWN_METRICS)[number][]): (string | number)[] {
  const pass = line.kind === 'evaluation' ? line.passes : line.pass + 1;
  return [
    `${isoTime(line.time).slice(0, 19)}Z`,
    line.kind === 'evaluation' ? line.name : line.kind,
    pass,
    line.kind === 'pass' ? '' : line.trained,
    line.records ?? '',
    ...shown.map(([, metric, digits]) => line[metric]?.toFixed(digits) ?? ''),
  ];
}
