/** The curves of a job, for people. */
import { isoTime } from '../../host/clock.ts';
import { curveText } from '../base/curve-text.ts';
import type { HistoryLine } from '../base/history-lines.ts';
import type { MakeTable } from '../base/table.ts';

const METRICS = ['logloss', 'auc', 'accuracy', 'rmse'] as const;

export function historyText(job: string, lines: readonly HistoryLine[], table: MakeTable, width: number): string {
  if (lines.length === 0) return `job ${job} has no points yet`;
  const shown = METRICS.filter((metric) => lines.some((line) => line[metric] !== undefined));
  const numbers = ['pass', 'trained', 'records', ...shown].map((head) => ({ head, align: 'right' as const }));
  const curve = curveText(lines, width);
  return [
    table(
      [{ head: 'time' }, { head: 'what' }, ...numbers],
      lines.map((line) => cells(line, shown)),
    ),
    ...(curve === undefined ? [] : [curve]),
  ].join('\n');
}

function cells(line: HistoryLine, shown: readonly (typeof METRICS)[number][]): (string | number)[] {
  const pass = line.kind === 'evaluation' ? line.passes : line.pass + 1;
  return [
    `${isoTime(line.time).slice(0, 19)}Z`,
    line.kind === 'evaluation' ? line.name : line.kind,
    pass,
    line.kind === 'pass' ? '' : line.trained,
    line.records ?? '',
    ...shown.map((metric) => line[metric]?.toFixed(5) ?? ''),
  ];
}
