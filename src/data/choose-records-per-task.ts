/** `data.recordsPerTask: auto`: counts the records, and chooses. */
import type { IndexRequest } from './index-builder.ts';
import { loadOrBuildIndex } from './index-file.ts';
import type { DataPlace } from './place.ts';
import { type Batches, recordsPerLargeTask, recordsPerTaskFor } from './records-per-task.ts';

/**
 * Indexes the data as tasks of the size that large data gets. Smaller data is indexed again, with the number returned.
 * Errors are those of `loadOrBuildIndex`.
 */
export async function chooseRecordsPerTask(
  place: DataPlace,
  request: Omit<IndexRequest, 'recordsPerTask'>,
  batches: Batches,
): Promise<number> {
  const { records } = await loadOrBuildIndex(place, { ...request, recordsPerTask: recordsPerLargeTask(batches) });
  return recordsPerTaskFor({ records, ...batches });
}
