/**
 * Sync mode: saves the last state of all units, on a clean stop or in a parting snapshot. Each file contains one round.
 * Units that came in the middle of a round may be one round behind or ahead of the others, and get a separate file.
 */
import { PaddletError } from '../../../../base/errors.ts';
import type { ShardMoment } from '../../../../checkpoint/file/capture.ts';
import type { RoundsMeta } from '../../../../checkpoint/file/format.ts';
import type { CheckpointFile } from '../../../../checkpoint/file/write-durable-file.ts';
import type { SaveKind, SnapshotSource, Snapshots } from '../../files/snapshots.ts';
import type { OwnedShards } from '../../held/owned-shards.ts';
import type { LastCopy } from '../../replicas/last-copies.ts';
import type { Rounds } from './rounds.ts';

export interface SaveLast {
  readonly index: number;
  readonly timeline: number;
  readonly shards: Pick<OwnedShards, 'parameters' | 'momentOf' | 'shardsOf' | 'heads'>;
  readonly rounds: Pick<Rounds, 'byRound'>;
  readonly snapshots: Pick<Snapshots, 'save' | 'saveParting'>;
}

/**
 * To be called on a clean stop, after the last update. Writes each file before it names the file in the heads as the
 * last state.
 */
export async function saveLast(by: SaveLast): Promise<void> {
  for (const { units, ...source } of sourcesOf(by)) {
    const { uuid } = await by.snapshots.save('last', source);
    await by.shards.heads.rest({ index: by.index, uuid }, units);
  }
}

/**
 * To be called when the index is lost, after the last update. `copies`: backup copies of units that other pservers led.
 * Outdated copies, from an earlier timeline, are left out.
 */
export async function saveParting(by: SaveLast, copies: readonly LastCopy[] = []): Promise<void> {
  const led = sourcesOf(by).map(({ shards, rounds }): PartedUnits => ({ shards, moments: [], rounds }));
  const copied = copies.flatMap(({ moments, rounds }): PartedUnits[] => {
    if (rounds?.timeline !== by.timeline) return [];
    const { version: round, metrics } = rounds;
    return [{ shards: moments.map(({ shard }) => shard), moments, rounds: { round, metrics } }];
  });
  const byRound = Map.groupBy([...led, ...copied], ({ rounds }) => rounds.round);
  const [first, ...others] = [...byRound.values()].map((alike) => ({
    shards: alike.flatMap(({ shards }) => shards).sort((a, b) => a - b),
    copies: new Map(alike.flatMap(({ moments }) => moments).map((moment) => [moment.shard, moment])),
    rounds: alike[0]!.rounds,
  }));
  if (first !== undefined) await by.snapshots.saveParting([first, ...others]);
}

interface PartedUnits {
  readonly shards: readonly number[];
  /** Moments of the shards that other pservers led. */
  readonly moments: readonly ShardMoment[];
  readonly rounds: RoundsMeta;
}

/**
 * To be called when every unit has the last round. Throws `NotReady` if this pserver leads no unit, or while its units
 * are at several rounds.
 */
export async function saveAll(by: SaveLast, kind: SaveKind): Promise<CheckpointFile> {
  const [source, ...others] = sourcesOf(by);
  if (source === undefined) throw new PaddletError('NotReady', 'this pserver leads no unit');
  if (others.length > 0) throw new PaddletError('NotReady', `the units are at ${others.length + 1} rounds`);
  // Nothing is frozen, so that this is not the last file of the process.
  return by.snapshots.save(kind === 'last' ? 'base' : kind, source);
}

interface RoundSource extends SnapshotSource {
  readonly units: readonly number[];
}

/** One source for each file. */
function sourcesOf({ shards, rounds }: SaveLast): RoundSource[] {
  const { parameters } = shards;
  const momentOf = (shard: number): ShardMoment => shards.momentOf(shard);
  return rounds.byRound().map(({ units, rounds: at }) => {
    return { parameters, units, shards: units.flatMap((unit) => shards.shardsOf(unit)), momentOf, rounds: at };
  });
}
