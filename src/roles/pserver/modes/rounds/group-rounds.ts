/**
 * Sync mode: the lanes, old values and metrics that a pserver keeps for each group of units at one version
 * (`core/rounds/gates.ts`). The lanes are those of the round that the group waits to complete.
 */
import type { PassMetrics } from '../../../../core/pass-metrics.ts';
import type { GateGroup } from '../../../../core/rounds/gates.ts';
import { partsOfShards, type ShardParts } from '../../../../tensor/shard-parts.ts';
import type { PreImage } from '../../held/pre-image.ts';
import type { RoundUpdate } from '../../update/update.ts';
import type { Lane } from './lanes.ts';

export interface GroupRounds {
  /** Lanes of the current round by lane number, each with the parts of the group's shards. */
  readonly lanes: (Lane | undefined)[];
  /** Sum of all lanes, until all copies of the units have it. The lanes have no gradients in this time. */
  sum?: RoundUpdate | undefined;
  /** Pre-images that together give the version before the current one, for as long as a trainer may pull it. */
  previous: readonly PreImage[];
  /**
   * Metrics of the passes and of the job, up to the group's version. They are sums over all records of the rounds, so
   * they depend only on the version. Units at one version have the same metrics, and a unit that moves takes them
   * along.
   */
  metrics: readonly PassMetrics[];
}

export type UnitGroup = GateGroup<GroupRounds>;

export const keptAt = (
  lanes: number,
  metrics: readonly PassMetrics[],
  previous: readonly PreImage[] = [],
): GroupRounds => ({ lanes: Array.from({ length: lanes }, () => undefined), previous, metrics });

/** Merges the state of two groups at one version that have no lanes. */
export const mergeKept = (first: GroupRounds, second: GroupRounds): GroupRounds => ({
  ...first,
  previous: [...first.previous, ...second.previous],
});

/** Keeps only the parts of these shards. */
export function restrictKept(of: ShardParts, kept: GroupRounds, shards: readonly number[]): void {
  kept.lanes.forEach((lane, number) => {
    if (lane !== undefined) kept.lanes[number] = laneOfShards(of, lane, shards);
  });
  kept.previous = kept.previous.map((image) => image.partOf(shards)).filter(({ isEmpty }) => !isEmpty);
}

/** The lane's parts of these shards. Some arrays may be those of `lane`, so its memory cannot be reused. */
export const laneOfShards = (of: ShardParts, lane: Lane, shards: readonly number[]): Lane => ({
  ...lane,
  ...partsOfShards(of, lane, shards),
  memory: undefined,
});

/** All lanes of a complete round, in lane order. */
export const lanesOf = ({ lanes }: GroupRounds): Lane[] => lanes.map((lane) => lane!);
