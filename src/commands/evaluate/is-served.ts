/** Whether the pservers of a job answer, or will soon. */
import { groupingOf } from '../../cluster/job/job-plan.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { readPlacement } from '../../cluster/placement/placement-view.ts';
import { parseDesired } from '../../cluster/placement/ps-desired.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';

/** All units have a live primary, or all pservers that the job wants are there, which are about to take their units. */
export async function isServed(store: Store, keys: Keys, record: JobRecord): Promise<boolean> {
  if ((await readPlacement(store, keys, groupingOf(record))) !== undefined) return true;
  const found = await store.get(keys.psDesired);
  const desired = found === undefined ? record.job.cluster.pservers : parseDesired(found);
  const live = new Set((await store.range({ prefix: keys.psPrefix })).entries.map(({ key }) => key));
  // One that leaves takes no unit.
  return Array.from({ length: desired }, (_, index) => index).every((index) => live.has(keys.ps(index)));
}
