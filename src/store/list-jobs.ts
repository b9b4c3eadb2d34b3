import { compareKeys } from './check.ts';
import { ROOT } from './keys.ts';
import type { Store } from './store.ts';

/**
 * Names of the jobs under `/paddlet/`, sorted bytewise. Skips from job to job, two reads each, so that the many keys of
 * a job are not read. The first `most` of them.
 */
export async function listJobs(store: Store, { root = ROOT, most = Number.POSITIVE_INFINITY } = {}): Promise<string[]> {
  const names: string[] = [];
  for (let from = root; ; ) {
    const { entries } = await store.range({ prefix: root, from, limit: 1 });
    const key = entries[0]?.key;
    if (key === undefined || names.length >= most) return names.sort(compareKeys);
    const slash = key.indexOf('/', root.length);
    if (slash < 0) {
      // A key that is directly under the root belongs to no job: continue behind it.
      from = `${key}\0`;
      continue;
    }
    const name = key.slice(root.length, slash);
    if ((await store.get(`${root}${name}/job`)) !== undefined) names.push(name);
    // '0' is the character after '/': the first key that is not under this name.
    from = `${root}${name}0`;
  }
}
