import type { PaddletError } from '../../base/errors.ts';
import { failJob } from '../../cluster/job/job-watch.ts';
import type { ShardServiceOptions } from './shard-service.ts';

/** Fails the whole job, because no process of the job can repair the error. Then this pserver ends with the error. */
export function failWholeJob(
  { context, fence, index, onFatal }: Pick<ShardServiceOptions, 'context' | 'fence' | 'index' | 'onFatal'>,
  error: PaddletError,
): void {
  failJob(context, fence, `pserver ${index}`, error).then(() => onFatal(error), onFatal);
}
