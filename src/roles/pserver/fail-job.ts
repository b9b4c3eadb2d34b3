import type { PaddletError } from '../../base/errors.ts';
import { failJob } from '../../cluster/job/job-watch.ts';
import type { ShardServiceOptions } from './shard-service.ts';

/** What no process of the job can put right: the whole job fails, and this pserver ends with the reason. */
export function failWholeJob(
  { context, fence, index, onFatal }: Pick<ShardServiceOptions, 'context' | 'fence' | 'index' | 'onFatal'>,
  error: PaddletError,
): void {
  failJob(context, fence, `pserver ${index}`, error).then(() => onFatal(error), onFatal);
}
