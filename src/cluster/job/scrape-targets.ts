/** Where the metrics of the processes of a job are, as Prometheus wants to be told (`http_sd_config`). */
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { trainerAddress } from '../trainer-entry.ts';
import { NOT_LISTENING } from './health.ts';

export interface ScrapeTargets {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** A group for each role that has processes; a master that stands by is not registered. */
export async function scrapeTargets(store: Store, keys: Keys): Promise<ScrapeTargets[]> {
  const [master, pservers, trainers] = await Promise.all([
    store.get(keys.masterAddr),
    store.range({ prefix: keys.psPrefix }),
    store.range({ prefix: keys.trainersPrefix }),
  ]);
  const byRole = {
    master: master === undefined ? [] : [master.value],
    pserver: pservers.entries.map(({ value }) => value),
    trainer: trainers.entries.map(({ value }) => trainerAddress(value)).filter((address) => address !== NOT_LISTENING),
  };
  return Object.entries(byRole).flatMap(([role, targets]) =>
    targets.length === 0 ? [] : [{ targets, labels: { role } }],
  );
}
