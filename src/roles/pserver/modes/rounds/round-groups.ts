/**
 * Sync mode: the units of a pserver in groups of units at one version, with the lanes and old values of each group. The
 * pserver applies a round to one group at a time. `src/core/rounds/gates.ts` decides which group takes which lane.
 */
import { assert } from '../../../../base/assert.ts';
import { failPoint } from '../../../../base/fail-points.ts';
import type { RoundsMeta } from '../../../../checkpoint/file/format.ts';
import { addRound, type PassMetrics } from '../../../../core/pass-metrics.ts';
import { createRoundGates, type RoundGates } from '../../../../core/rounds/gates.ts';
import { type Grouping, shardsOfUnits } from '../../../../core/units/units.ts';
import type { LaneSum, RoundGradients } from '../../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../../tensor/spec.ts';
import type { OwnedShards } from '../../held/owned-shards.ts';
import { type OldValues, PreImage } from '../../held/pre-image.ts';
import type { TimedRounds, UnitRounds } from '../../held/unit-rounds.ts';
import type { RoundUpdate } from '../../update/update.ts';
import {
  type GroupRounds,
  keptAt,
  laneOfShards,
  lanesOf,
  mergeKept,
  restrictKept,
  type UnitGroup,
} from './group-rounds.ts';
import { LaneMemory } from './lane-memory.ts';
import type { Lane } from './lanes.ts';

export interface RoundGroupsOptions {
  readonly timeline: number;
  /** Number of lanes of the job. */
  readonly lanes: number;
  readonly spec: ParameterSpec;
  readonly grouping: Grouping;
  readonly shards: OwnedShards;
  /** Round and metrics of each unit, as loaded. */
  readonly loaded: ReadonlyMap<number, RoundsMeta>;
}

/** Units that are at one round. */
export interface RoundUnits {
  /** Unit numbers, ascending. */
  readonly units: readonly number[];
  readonly rounds: RoundsMeta;
}

export class RoundGroups {
  readonly gates: RoundGates<GroupRounds>;
  /** Memory for the lanes of all groups. */
  readonly memory: LaneMemory;
  readonly #options: RoundGroupsOptions;

  constructor(options: RoundGroupsOptions) {
    const { timeline, lanes, shards, loaded } = options;
    this.#options = options;
    this.memory = new LaneMemory(lanes);
    this.gates = createRoundGates({ timeline, lanes, mergeKept });
    for (const unit of shards.heads.units()) {
      const { round, metrics } = loaded.get(unit)!;
      this.gates.add(unit, { version: round, keepsPrevious: false }, keptAt(lanes, metrics));
    }
  }

  /** The metrics up to the version that all units have reached. */
  metrics(): readonly PassMetrics[] {
    const lowest = this.gates.groups().find(({ gate }) => gate.version() === this.gates.version());
    return lowest?.kept.metrics ?? [];
  }

  /** All units, grouped by round; the lowest round first. */
  byRound(): RoundUnits[] {
    const groups = Map.groupBy(this.gates.groups(), ({ gate }) => gate.version());
    return [...groups]
      .sort(([a], [b]) => a - b)
      .map(([round, alike]) => {
        const units = alike.flatMap((group) => group.units).sort((a, b) => a - b);
        return { units, rounds: { round, metrics: alike[0]!.kept.metrics } };
      });
  }

  /** The rounds state that the unit takes along to another pserver. `shards` limits it to the part of these shards. */
  stateOf(unit: number, shards = this.#shardsOf([unit])): TimedRounds {
    const { gate, kept } = this.gates.groupOf(unit);
    const part = kept.previous.map((image) => image.partOf(shards)).find(({ isEmpty }) => !isEmpty);
    return {
      timeline: gate.timeline,
      version: gate.version(),
      previous: gate.oldest() < gate.version() ? (part?.old ?? NO_VALUES) : undefined,
      metrics: kept.metrics,
    };
  }

  /** Adds a unit that came from another pserver; its shards are already owned. */
  add(unit: number, { version, previous, metrics }: UnitRounds): void {
    const images = previous === undefined ? [] : [new PreImage(this.#options.shards.parts, previous)];
    const at = { version, keepsPrevious: previous !== undefined };
    this.gates.add(unit, at, keptAt(this.#options.lanes, metrics, images));
  }

  /**
   * Removes a unit that this pserver no longer owns, and drops its lanes: trainers push them to the next primary.
   */
  remove(unit: number): void {
    const left = this.gates.remove(unit);
    if (left !== undefined) restrictKept(this.#options.shards.parts, left.kept, this.#shardsOf(left.units));
  }

  /** Shards of the group; undefined if the group has all owned shards. */
  shardsOf({ units }: UnitGroup): readonly number[] | undefined {
    return this.gates.groups().length === 1 ? undefined : this.#shardsOf(units);
  }

  /** Keeps a complete lane. `whole` has the parts of the shards of all `groups`. */
  keep(groups: readonly UnitGroup[], number: number, whole: Lane): void {
    for (const group of groups) {
      const shards = this.shardsOf(group);
      group.kept.lanes[number] = shards === undefined ? whole : laneOfShards(this.#options.shards.parts, whole, shards);
      // This lane proves that every unit has the current version, so no trainer pulls the version before it.
      group.kept.previous = [];
    }
  }

  /**
   * Applies the round, of which the group has all lanes. `Parameters.push` checks and reserves memory before it changes
   * anything, so the round is applied completely or not at all. `applied` gets a function that makes the update for the
   * targets of moves; it must call this function at once or never.
   */
  apply<T>(group: UnitGroup, before: (gradients: RoundGradients) => void, applied: (make: () => RoundUpdate) => T): T {
    const { parameters } = this.#options.shards;
    const of = this.#roundOf(group);
    const lanes = lanesOf(group.kept);
    return parameters.withSum(lanes, (sum) => {
      this.#apply(group, group.units, { ...of, ...sum.parts() }, before);
      for (const lane of lanes) this.memory.giveBack(lane);
      return applied(() => ({ ...of, ...sum.copy() }));
    });
  }

  /**
   * Folds the lanes of the complete round into their sum, which is applied when all copies of the units have it. Throws
   * `OutOfMemory` and the errors of `Parameters.check`.
   */
  takeSum(group: UnitGroup): RoundUpdate {
    const { shards } = this.#options;
    const { parameters } = shards;
    const checked = (sum: LaneSum): RoundGradients => {
      shards.check(sum.parts(), this.shardsOf(group));
      return sum.copy();
    };
    const sum = { ...this.#roundOf(group), ...parameters.withSum(lanesOf(group.kept), checked) };
    group.kept.sum = sum;
    for (const lane of lanesOf(group.kept)) this.memory.giveBack(lane);
    group.kept.lanes.forEach((lane, number) => {
      group.kept.lanes[number] = lane && { ...lane, dense: [], sparse: [], memory: undefined };
    });
    return sum;
  }

  /** Those of `units` that have yet to apply the sum, because not all their copies have it. */
  waitingFor(sum: RoundUpdate, units: readonly number[]): number[] {
    const group = this.gates.groups().find(({ kept }) => kept.sum === sum);
    return group === undefined ? [] : units.filter((unit) => group.units.includes(unit));
  }

  /** Applies the round to these units, whose copies all have it. `round` has their part of the sum from `takeSum`. */
  commit(units: readonly number[], round: RoundUpdate, before: (gradients: RoundGradients) => void): void {
    const group = this.gates.groupOf(units[0]!);
    assert(
      group.kept.sum?.round === round.round && units.every((unit) => group.units.includes(unit)),
      'units that commit a round wait for it',
    );
    this.#apply(group, units, round, before);
  }

  /** The round of which the group has all lanes, without its gradients. */
  #roundOf({ gate, kept }: UnitGroup): Omit<RoundUpdate, keyof RoundGradients> {
    const batches = lanesOf(kept).flatMap(({ position, metrics }) =>
      position === undefined ? [] : [{ position, metrics }],
    );
    return { type: 'round', timeline: gate.timeline, round: gate.version(), batches };
  }

  /** Applies the round to these units of the group. */
  #apply(
    group: UnitGroup,
    units: readonly number[],
    round: RoundUpdate,
    before: (gradients: RoundGradients) => void,
  ): void {
    const { shards, lanes } = this.#options;
    const isWhole = units.length === group.units.length;
    const only = isWhole ? this.shardsOf(group) : this.#shardsOf(units);
    before(round);
    const previous = [new PreImage(this.#options.shards.parts, shards.apply(round, only)!)];
    shards.raiseVersion();
    failPoint('round.applied');
    const metrics = addRound(group.kept.metrics, round.round + 1, round.batches);
    if (isWhole) {
      group.kept.lanes.fill(undefined);
      Object.assign(group.kept, { previous, metrics, sum: undefined });
    }
    this.gates.advance(group, units, () => keptAt(lanes, metrics, previous));
  }

  #shardsOf(units: readonly number[]): readonly number[] {
    return shardsOfUnits(units, this.#options.grouping);
  }
}

const NO_VALUES: OldValues = { dense: [], sparse: [] };
