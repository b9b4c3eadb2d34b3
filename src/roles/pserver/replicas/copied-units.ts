/**
 * All copies of units that this pserver has but does not lead. They share the memory of the units that it leads. The
 * updates that a primary has committed are applied here in order; an update of many units is applied to all of them at
 * once.
 */
import { assert } from '../../../base/assert.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { Log } from '../../../base/seams.ts';
import type { ShardMoment } from '../../../checkpoint/file/capture.ts';
import type { ParameterMemory } from '../../../tensor/parameters.ts';
import type { Held } from '../held/held.ts';
import { afterRound, whyNotNext } from '../held/next-round.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { ShardPositions } from '../held/positions.ts';
import { PreImage } from '../held/pre-image.ts';
import type { TimedRounds } from '../held/unit-rounds.ts';
import type { FilledCopy } from '../transfer/incoming-unit.ts';
import { namedFor } from '../update/parts.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { Update } from '../update/update.ts';

export interface CopiedUnitsOptions {
  readonly log: Log;
  readonly owned: OwnedShards;
  /** In sync mode: returns the timeline of this pserver, or undefined while the pserver goes back to a cut. */
  readonly timeline?: (() => number | undefined) | undefined;
}

interface CopiedUnit {
  /** Memory that contains the shards of the copy. A return to a cut gives the pserver another memory. */
  readonly parameters: ParameterMemory;
  readonly shards: readonly number[];
  /** Defined in sync mode. The pre-image may contain shards of several units. */
  rounds: TimedRounds | undefined;
}

export class CopiedUnits {
  readonly #options: CopiedUnitsOptions;
  readonly #held: Held;
  readonly #units = new Map<number, CopiedUnit>();

  constructor(options: CopiedUnitsOptions) {
    this.#options = options;
    this.#held = options.owned.beside();
  }

  /** In ascending order. */
  units(): number[] {
    return [...this.#units.keys()].sort((a, b) => a - b);
  }

  /** Adds a complete copy whose shards are in memory. Throws `CheckpointCorrupt` for an unreadable ledger. */
  adopt(unit: number, { positions, rounds }: FilledCopy): void {
    const { owned, timeline } = this.#options;
    const { parameters } = owned;
    const shards = owned.shardsOf(unit);
    assert(!this.#units.has(unit), `unit ${unit} is copied once`);
    assert(
      shards.every((shard) => parameters.hasShard(shard)),
      `the shards of unit ${unit} are present`,
    );
    assert((timeline === undefined) === (rounds === undefined), 'in sync mode a copy is in a round');
    this.#held.hold(shards, positions);
    this.#units.set(unit, { parameters, shards, rounds });
  }

  /**
   * Applies one update to these of its units, once for all of them. Returns the units that the update does not fit;
   * these are unchanged. An outdated copy gets no updates: a pserver that leads with it loads the unit.
   */
  apply(concerned: readonly number[], shared: Pick<SharedUpdate, 'partOf'>): number[] {
    const units = concerned.filter((unit) => !this.#isOutdated(unit));
    if (units.length === 0) return [];
    const update = shared.partOf(units);
    // The usual case: the update fits all copies, so one check suffices.
    const unfit = this.#whyUnfit(units, update) === undefined ? [] : this.#unfitOf(units, update);
    const fit = unfit.length === 0 ? units : units.filter((unit) => !unfit.includes(unit));
    const why = fit.length === 0 ? undefined : this.#apply(fit, shared.partOf(fit));
    if (why === undefined) return unfit;
    this.#warn(fit, update, why);
    return [...units];
  }

  /** Positions of the unit's shards, for `OwnedShards.add`. */
  positions(unit: number): ShardPositions {
    return this.#held.positions(this.#copyOf(unit).shards);
  }

  /**
   * Returns the number of updates applied to a shard that is copied here, and a function that encodes its current
   * ledger. Returns undefined for an outdated copy, which has nothing to compare.
   */
  momentOf(shard: number): (Pick<ShardMoment, 'seq' | 'looks'> & { readonly ledger: () => Uint8Array }) | undefined {
    for (const [unit, { shards }] of this.#units)
      if (shards.includes(shard) && this.#isOutdated(unit)) return undefined;
    const seq = this.#held.seqOf(shard);
    if (seq === undefined) return undefined;
    return { seq, looks: this.#held.looksOf(shard), ledger: () => this.#held.ledgers.encode(shard) };
  }

  /** In sync mode: the place of the unit in the sequence of rounds, and its timeline. */
  rounds(unit: number): TimedRounds | undefined {
    const { shards, rounds } = this.#copyOf(unit);
    if (rounds?.previous === undefined) return rounds;
    const { parts } = this.#options.owned;
    return { ...rounds, previous: new PreImage(parts, rounds.previous).partOf(shards).old };
  }

  /** In sync mode: the copy is from before a return to a cut, or the pserver is on its way back to a cut. */
  #isOutdated(unit: number): boolean {
    const { timeline } = this.#options;
    return timeline !== undefined && this.#units.get(unit)?.rounds?.timeline !== timeline();
  }

  /** This pserver leads the unit from now on. The shards stay in memory. */
  release(unit: number): void {
    this.#held.letGo(this.#copyOf(unit).shards);
    this.#units.delete(unit);
  }

  /** Frees the memory of the copy. */
  discard(unit: number): void {
    const { parameters, shards } = this.#copyOf(unit);
    this.release(unit);
    for (const shard of shards) parameters.dropShard(shard);
  }

  #copyOf(unit: number): CopiedUnit {
    const copy = this.#units.get(unit);
    assert(copy !== undefined, `unit ${unit} is copied here`);
    return copy;
  }

  #shardsOf(units: readonly number[]): readonly number[] {
    return units.flatMap((unit) => this.#copyOf(unit).shards);
  }

  #unfitOf(units: readonly number[], whole: Update): number[] {
    return units.filter((unit) => {
      const update = namedFor(whole, this.#options.owned.shardsOf(unit));
      const why = this.#whyUnfit([unit], update);
      if (why !== undefined) this.#warn([unit], update, why);
      return why !== undefined;
    });
  }

  #whyUnfit(units: readonly number[], update: Update): string | undefined {
    for (const unit of units) {
      const why = this.#whyNotNext(unit, update);
      if (why !== undefined) return why;
    }
    return this.#held.whyUnfit(update, this.#shardsOf(units));
  }

  /** Checks what can differ between the units: memory, mode and round. */
  #whyNotNext(unit: number, update: Update): string | undefined {
    const { owned, timeline } = this.#options;
    const copy = this.#units.get(unit);
    if (copy === undefined) return 'this pserver does not have a copy of the unit';
    if (copy.parameters !== owned.parameters) return 'the copy is from before all went back to a cut';
    if (copy.rounds !== undefined && update.type === 'round') return whyNotNext(copy.rounds, timeline?.(), update);
    return (copy.rounds !== undefined) === (update.type === 'round')
      ? undefined
      : `a ${update.type} comes in this mode`;
  }

  /** Returns why the update cannot be applied. In this case, nothing was changed. */
  #apply(units: readonly number[], update: Update): string | undefined {
    try {
      const previous = this.#held.apply(update, this.#shardsOf(units));
      if (update.type !== 'round') return undefined;
      for (const copy of units.map((unit) => this.#copyOf(unit)))
        copy.rounds = afterRound(copy.rounds!, update, previous!);
      return undefined;
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      return error.message;
    }
  }

  #warn(units: readonly number[], { type }: Update, why: string): void {
    this.#options.log.warn(`a ${type} does not fit copies of units: ${why}`, { units });
  }
}
