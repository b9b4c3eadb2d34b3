/**
 * All copies of units that this pserver holds and does not lead, in the same memory as what it leads. What a primary
 * has committed is applied here, in its order; an update of many units at one go.
 */
import { assert } from '../../../base/assert.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { Log } from '../../../base/seams.ts';
import { createIdRouter } from '../../../tensor/id-router.ts';
import type { Parameters } from '../../../tensor/parameters.ts';
import { PreImage } from '../pre-image.ts';
import type { OwnedShards, ShardPositions } from '../shards.ts';
import type { TimedRounds } from '../unit-rounds.ts';
import { CopiedShards, type CopiedShardsOptions } from '../units/copied-shards.ts';
import type { ForwardedUpdate } from '../units/forwarded-update.ts';
import type { FilledCopy } from '../units/incoming-unit.ts';
import { afterRound, whyNotNext } from '../units/next-round.ts';

export interface CopiedUnitsOptions extends CopiedShardsOptions {
  readonly log: Log;
  readonly owned: Pick<OwnedShards, 'parameters' | 'shardsOf'>;
  /** In sync mode: the timeline of this pserver; undefined while it goes back to a cut. */
  readonly timeline?: (() => number | undefined) | undefined;
}

interface CopiedUnit {
  /** In which its shards are present: it is another one after all have gone back to a cut. */
  readonly parameters: Parameters;
  readonly shards: readonly number[];
  /** In sync mode. The old values may be those of several units. */
  rounds: TimedRounds | undefined;
}

export class CopiedUnits {
  readonly #options: CopiedUnitsOptions;
  readonly #shards: CopiedShards;
  readonly #units = new Map<number, CopiedUnit>();

  constructor(options: CopiedUnitsOptions) {
    this.#options = options;
    this.#shards = new CopiedShards(options);
  }

  /** Ascending. */
  units(): number[] {
    return [...this.#units.keys()].sort((a, b) => a - b);
  }

  /** A copy that is complete; its shards are present. Throws `CheckpointCorrupt` for a ledger that cannot be read. */
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
    this.#shards.add(shards, positions);
    this.#units.set(unit, { parameters, shards, rounds });
  }

  /**
   * One update, to these units of those that it concerns: once for all of them. Gives the units that it does not fit;
   * nothing of it was applied to those. A copy that is outdated takes nothing: who leads with it loads the unit.
   */
  apply(concerned: readonly number[], update: ForwardedUpdate): number[] {
    const units = concerned.filter((unit) => !this.#isOutdated(unit));
    if (units.length === 0) return [];
    // Nearly always it fits all, and equal copies are judged as one.
    const unfit = this.#whyUnfit(units, update) === undefined ? [] : this.#unfitOf(units, update);
    const fit = unfit.length === 0 ? units : units.filter((unit) => !unfit.includes(unit));
    const why = fit.length === 0 ? undefined : this.#apply(fit, update);
    if (why === undefined) return unfit;
    this.#warn(fit, update, why);
    return [...units];
  }

  /** For `OwnedShards.add`. */
  positions(unit: number): ShardPositions {
    return this.#shards.positions(this.#copyOf(unit).shards);
  }

  /**
   * Of a shard that is copied here: the updates applied to it, and its ledger as it is when asked for. There is nothing
   * to compare in a copy that is outdated.
   */
  momentOf(shard: number): { readonly seq: number; readonly ledger: () => Uint8Array } | undefined {
    for (const [unit, { shards }] of this.#units)
      if (shards.includes(shard) && this.#isOutdated(unit)) return undefined;
    const seq = this.#shards.seqOf(shard);
    return seq === undefined ? undefined : { seq, ledger: () => this.#shards.ledgerOf(shard) };
  }

  /** In sync mode: where the unit is in the rounds, and on which timeline. */
  rounds(unit: number): TimedRounds | undefined {
    const { shards, rounds } = this.#copyOf(unit);
    if (rounds?.previous === undefined) return rounds;
    const { spec, shards: count } = this.#options;
    const of = { spec, shards: count, router: createIdRouter({ shards: count }) };
    return { ...rounds, previous: new PreImage(of, rounds.previous).partOf(shards).old };
  }

  /** In sync mode: the copy is from before all went back to a cut, or they are on their way there. */
  #isOutdated(unit: number): boolean {
    const { timeline } = this.#options;
    return timeline !== undefined && this.#units.get(unit)?.rounds?.timeline !== timeline();
  }

  /** This pserver leads the unit from now on: its memory stays. */
  release(unit: number): void {
    this.#shards.remove(this.#copyOf(unit).shards);
    this.#units.delete(unit);
  }

  /** Its memory is freed. */
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

  #unfitOf(units: readonly number[], update: ForwardedUpdate): number[] {
    return units.filter((unit) => {
      const why = this.#whyUnfit([unit], update);
      if (why !== undefined) this.#warn([unit], update, why);
      return why !== undefined;
    });
  }

  #whyUnfit(units: readonly number[], update: ForwardedUpdate): string | undefined {
    for (const unit of units) {
      const why = this.#whyNotNext(unit, update);
      if (why !== undefined) return why;
    }
    return this.#shards.whyUnfit(this.#shardsOf(units), update);
  }

  /** By what each unit has of its own. */
  #whyNotNext(unit: number, update: ForwardedUpdate): string | undefined {
    const { owned, timeline } = this.#options;
    const copy = this.#units.get(unit);
    if (copy === undefined) return 'this pserver does not have a copy of the unit';
    if (copy.parameters !== owned.parameters) return 'the copy is from before all went back to a cut';
    if (copy.rounds !== undefined && update.type === 'round') return whyNotNext(copy.rounds, timeline?.(), update);
    return (copy.rounds !== undefined) === (update.type === 'round')
      ? undefined
      : `a ${update.type} comes in this mode`;
  }

  /** Gives why it cannot be applied. Then nothing was changed. */
  #apply(units: readonly number[], update: ForwardedUpdate): string | undefined {
    const { parameters } = this.#options.owned;
    try {
      const previous = this.#shards.apply(parameters, this.#shardsOf(units), update);
      if (update.type !== 'round') return undefined;
      for (const copy of units.map((unit) => this.#copyOf(unit)))
        copy.rounds = afterRound(copy.rounds!, update, previous!);
      return undefined;
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      return error.message;
    }
  }

  #warn(units: readonly number[], { type }: ForwardedUpdate, why: string): void {
    this.#options.log.warn(`a ${type} does not fit copies of units: ${why}`, { units });
  }
}
