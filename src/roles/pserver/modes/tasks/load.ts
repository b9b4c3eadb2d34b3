/**
 * Async mode: fills the parameter memory with units that have no live primary. Units that never had an owner get their
 * initial values. The others get the last state of their former owner. If that owner saved it on its way out,
 * nothing is missing. Otherwise the newest usable checkpoint is loaded, or else the initial values: both are logged,
 * and the recovery number tells all roles that acknowledged pushes may be gone from these shards and must be repaired.
 */
import type { WarmLoaded } from '../../../../checkpoint/load/warm-load.ts';
import type { WarmPlan } from '../../../../checkpoint/load/warm-plan.ts';
import { shardsOfUnit } from '../../../../core/units/units.ts';
import { warmUp } from '../../files/warm-start.ts';
import { formerUnits, type OrphanHead } from '../../take/take-units.ts';
import { type LoadedShards, type LoadFormerOptions, loadFormer } from './load-former.ts';

export interface LoadShardsOptions extends LoadFormerOptions {
  readonly orphans: readonly OrphanHead[];
  /** What shards without a state take over from another job. */
  readonly warmStart: WarmPlan | undefined;
}

export interface FilledShards extends LoadedShards {
  /** What was taken over from another job. */
  readonly warm: readonly WarmLoaded[];
}

export async function loadShards(options: LoadShardsOptions): Promise<FilledShards> {
  const { orphans, into, context, units, expected } = options;
  const shardsOf = (unit: number): number[] => shardsOfUnit(unit, { units, shards: expected.shards });
  const parts: LoadedShards[] = [];
  for (const former of formerUnits(orphans)) {
    parts.push(...(await loadFormer(options, former)));
  }
  // A shard that its former owner took but never saved is lost as well.
  const initial: number[] = [];
  for (const { unit, head } of orphans) {
    const absent = shardsOf(unit).filter((shard) => !into.hasShard(shard));
    if (head !== undefined && absent.length > 0) {
      context.host.log.debug(`${absent.length} shards of unit ${unit} start from their initial values`);
    }
    for (const shard of absent) into.addShard(shard);
    initial.push(...absent);
  }
  return {
    warm: await warmUp(options, initial),
    ledgers: new Map(parts.flatMap(({ ledgers }) => [...ledgers])),
    seqs: new Map(parts.flatMap(({ seqs }) => [...seqs])),
    exact: parts.every(({ exact }) => exact),
    rests: new Map(parts.flatMap(({ rests }) => [...rests])),
    files: parts.flatMap(({ files }) => files),
    partings: parts.flatMap(({ partings }) => partings),
    partedAt: new Map(parts.flatMap(({ partedAt }) => [...partedAt])),
    source: parts.length === 0 ? 'initial values' : parts.map(({ source }) => source).join(', '),
  };
}
