import type { HistoryLine, TableLine } from '../base/history-lines.ts';
import type { Scalar } from './event-file.ts';

const METRICS = ['logloss', 'auc', 'groupedAuc', 'hitRate', 'ndcg', 'accuracy', 'rmse', 'calibration'] as const;

/** Steps are records, but those of passes: they are passes that had ended. */
const groupOf = (line: HistoryLine): { readonly group: string; readonly step: number } => {
  switch (line.kind) {
    case 'train':
      return { group: 'train', step: line.trained };
    case 'pass':
      return { group: 'pass', step: line.pass + 1 };
    case 'evaluation':
      return { group: line.name, step: line.trained };
  }
};

export function scalarsOf(lines: readonly HistoryLine[]): Scalar[] {
  return lines.flatMap((line) => {
    const { group, step } = groupOf(line);
    return METRICS.flatMap((metric) => {
      const value = line[metric];
      return value === undefined ? [] : [{ tag: `${group}/${metric}`, time: line.time, step, value }];
    });
  });
}

const FIGURES = ['rows', 'candidates', 'bytes', 'updated', 'admitted', 'notAdmitted', 'refused'] as const;

/** Steps are passes that had ended. */
export function tableScalarsOf(lines: readonly TableLine[]): Scalar[] {
  return lines.flatMap(({ time, passes: step, name, evicted, ...line }) => [
    ...FIGURES.map((figure) => ({ tag: `table/${name}/${figure}`, time, step, value: line[figure] })),
    { tag: `table/${name}/evictedBound`, time, step, value: evicted.bound.rows },
    { tag: `table/${name}/evictedUnseen`, time, step, value: evicted.unseen.rows },
  ]);
}
