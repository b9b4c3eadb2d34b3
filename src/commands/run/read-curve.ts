import { isPaddletError } from '../../base/errors.ts';
import { modelOf } from '../../cluster/job/job-model.ts';
import { readJobRecord } from '../../cluster/job/job-record.ts';
import { readHistory } from '../../roles/master/load-history.ts';
import { curveText } from '../base/curve-text.ts';
import { linesOf } from '../base/history-lines.ts';
import type { ClusterRun } from './cluster-run.ts';

/** The curve of the training loss; undefined when there is none, or the store does not tell: the result is known. */
export async function readCurve({ store, keys }: ClusterRun, columns: number): Promise<string | undefined> {
  try {
    const record = await readJobRecord(store, keys);
    return record && curveText(linesOf(await readHistory(store, keys), modelOf(record).task), columns);
  } catch (error) {
    if (isPaddletError(error)) return undefined;
    throw error;
  }
}
