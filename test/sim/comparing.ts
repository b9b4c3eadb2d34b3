/** Compares the copies of one unit after the other for as long as the job lasts, as `status --verify` does. */
import type { Cancel } from '../../src/base/seams.ts';
import { compareUnit } from '../../src/cluster/client/compare-copies.ts';
import { CopyClient } from '../../src/cluster/client/copy-client.ts';
import { groupingOf } from '../../src/cluster/job/job-plan.ts';
import { type JobRecord, parseJobRecord } from '../../src/cluster/job/job-record.ts';
import { byKey, placesIn } from '../../src/cluster/placement/unit-places.ts';
import { shardsOfUnit } from '../../src/core/units/units.ts';
import type { Cluster } from './cluster.ts';
import type { Dice } from './dice.ts';
import { KEYS } from './job-keys.ts';
import { SimulatedProcess } from './process.ts';

const PAUSE_MS = [100, 1_500] as const;

/** Until the cancel. */
export function compareCopies(cluster: Cluster, dice: Dice): Cancel {
  const process = new SimulatedProcess({ name: 'comparer', role: 'stranger', life: 1 }, cluster.timeline, dice);
  const goOn = (): void => {
    compareOne(cluster, process).then(
      () => void process.clock.after(dice.between(...PAUSE_MS), goOn),
      (error: unknown) => cluster.witness.bug(process, error),
    );
  };
  goOn();
  return () => {
    process.die();
    cluster.network.died(process, false);
  };
}

async function compareOne(cluster: Cluster, process: SimulatedProcess): Promise<void> {
  const { store, witness } = cluster;
  const entry = store.data.get(KEYS.job);
  if (entry === undefined) return;
  const record: JobRecord = parseJobRecord(entry.key, entry.value);
  const grouping = groupingOf(record);
  const entriesOf = (prefix: string) => byKey(store.data.range({ prefix }).entries);
  const places = placesIn(KEYS, grouping, { owners: entriesOf(KEYS.psPrefix), heads: entriesOf(KEYS.headsPrefix) });
  const place = process.dice.pick(places);
  const client = new CopyClient(cluster.network.of(process), record);
  try {
    const asking = {
      digestAt: client.digestAt.bind(client),
      headRevision: async (unit: number) => store.data.get(KEYS.head(unit))?.modRevision,
    };
    const compared = await compareUnit(asking, place, shardsOfUnit(place.unit, grouping));
    if (!process.isDead) witness.count(`copies ${compared.outcome}`);
    if (compared.outcome !== 'different') return;
    for (const { shard, position, digests } of compared.shards) {
      const found = digests.map(({ pserver, digest }) => `pserver ${pserver} has ${digest.slice(0, 12)}`).join(', ');
      witness.violated(`the copies of shard ${shard} differ after ${position} updates: ${found}`);
    }
  } finally {
    client.close();
  }
}
