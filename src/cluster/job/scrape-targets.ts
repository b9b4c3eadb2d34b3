/** Where the metrics of the processes of a job are, in the form that Prometheus reads (`http_sd_config`). */
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { NOT_LISTENING, trainerAddress } from '../trainer-entry.ts';

export interface ScrapeTargets {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * A group for each role that has processes, and for each pserver; a master that stands by is not registered. Labels are
 * those of their series: what Prometheus itself says of a target (`up`) has them, too.
 */
export async function scrapeTargets(store: Store, keys: Keys, job: string): Promise<ScrapeTargets[]> {
  const [master, pservers, trainers] = await Promise.all([
    store.get(keys.masterAddr),
    store.range({ prefix: keys.psPrefix }),
    store.range({ prefix: keys.trainersPrefix }),
  ]);
  const groups = [
    { targets: master === undefined ? [] : [master.value], labels: { job, role: 'master' } },
    ...pservers.entries.map(({ key, value }) => ({
      targets: [value],
      labels: { job, role: 'pserver', index: key.slice(keys.psPrefix.length) },
    })),
    {
      targets: trainers.entries.map(({ value }) => trainerAddress(value)).filter((at) => at !== NOT_LISTENING),
      labels: { job, role: 'trainer' },
    },
  ];
  return groups.filter(({ targets }) => targets.length > 0);
}
