/**
 * A copy of a unit that is being filled. It has the values, optimizer state, positions and ledgers of the shards that
 * have arrived, and applies the later updates to them. Once the copy is complete, this pserver leads the unit with it,
 * or keeps it as a backup (`CopiedUnits`).
 */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { LookState } from '../../../core/shard/looks.ts';
import type { ParameterMemory } from '../../../tensor/parameters.ts';
import type { Held } from '../held/held.ts';
import { afterRound, whyNotNext, whyOtherTimeline } from '../held/next-round.ts';
import type { ShardPositions } from '../held/positions.ts';
import type { OldValues } from '../held/pre-image.ts';
import type { TimedRounds } from '../held/unit-rounds.ts';
import { namedFor, partOf } from '../update/parts.ts';
import type { RoundUpdate, Update } from '../update/update.ts';
import { type CopyPiece, looksOf, putPiece } from './copy-pieces.ts';
import { IncomingRounds } from './rounds-pieces.ts';

export interface IncomingUnitOptions {
  /** Shards of the unit. */
  readonly shards: readonly number[];
  /** Holds no shards yet. The shards of the unit are not in its memory. */
  readonly held: Held;
  /** In sync mode only. Returns the timeline of this pserver; undefined while it goes back to a cut. */
  readonly timeline?: (() => number | undefined) | undefined;
}

/** A complete copy of a unit, except for the values and optimizer state, which stay in the memory. */
export interface FilledCopy {
  readonly positions: ShardPositions;
  /** In sync mode only. */
  readonly rounds: TimedRounds | undefined;
}

export class IncomingUnit {
  readonly #options: IncomingUnitOptions;
  /** The memory with the copy. `held` gets another memory when all pservers go back to a cut. */
  readonly #parameters: ParameterMemory;
  /** Holds the complete shards. */
  readonly #held: Held;
  /** Shards in the memory, complete or not. */
  readonly #present = new Set<number>();
  /** In sync mode only. */
  readonly #rounds: IncomingRounds | undefined;
  /** Position and ledger of the shard that is arriving; undefined before the first piece of its ledger. */
  #coming: { readonly seq: number; readonly ledger: Uint8Array[] } | undefined;
  /** Looks of the shard that is arriving, if rows have a `seen`. */
  #looks: LookState | undefined;

  constructor(options: IncomingUnitOptions) {
    this.#options = options;
    this.#parameters = options.held.parameters;
    this.#held = options.held;
    this.#rounds = options.timeline && new IncomingRounds(options.held.job.spec);
  }

  /**
   * Puts in the next piece of a shard. Throws the errors of `putPiece`, and `CheckpointCorrupt` for an unreadable
   * ledger. After an error, the caller must discard the copy.
   */
  put(shard: number, piece: CopyPiece, isFirst: boolean, isLast: boolean): void {
    const parameters = this.#parameters;
    if (isFirst) {
      parameters.addShard(shard);
      this.#present.add(shard);
      this.#coming = undefined;
      this.#looks = undefined;
    }
    const { header } = piece;
    if (header.part === 'ledger') this.#putLedger(piece, header.seq);
    else if (header.part === 'looks') this.#looks = looksOf(piece, this.#held.job.spec);
    else if (header.part === 'rounds' || header.part === 'oldRows' || header.part === 'oldBlocks')
      this.#putRounds(piece);
    else putPiece(parameters, shard, this.#held.job.spec, piece);
    if (isLast) this.#complete(shard);
  }

  /** Applies an update to these complete shards. Throws if it does not fit; then the caller must discard the copy. */
  apply(shards: readonly number[], whole: Update): void {
    // The other shards are copied later, and their copies will include this update.
    const isForAll = shards.length === this.#options.shards.length;
    const update = isForAll ? namedFor(whole, shards) : partOf(this.#held.parts, whole, shards);
    if (this.#held.parameters !== this.#parameters) throw unfit('the copy is from before all went back to a cut');
    const why = this.#whyNotNext(update) ?? this.#held.whyUnfit(update, shards);
    if (why !== undefined) throw unfit(why);
    const previous = this.#held.apply(update, shards);
    if (update.type === 'round') this.#advanceRounds(update, previous!);
  }

  /** The positions of all shards, for `OwnedShards.add`. */
  positions(): ShardPositions {
    return this.#held.positions();
  }

  /** In sync mode: the unit's version and timeline, and its previous values. */
  rounds(): TimedRounds | undefined {
    return this.#rounds?.state();
  }

  /** The complete copy, for `CopiedUnits.adopt`. From then on, this object must not free the memory. */
  filled(): FilledCopy {
    return { positions: this.positions(), rounds: this.rounds() };
  }

  /** Frees the memory of the copy. */
  discard(): void {
    for (const shard of this.#present) this.#parameters.dropShard(shard);
    this.#present.clear();
  }

  #putRounds(piece: CopyPiece): void {
    if (this.#rounds === undefined) throw unfit('a copy of a job in async mode says where it is in the rounds');
    if (piece.header.part === 'rounds') this.#checkTimeline(piece.header.timeline);
    this.#rounds.put(piece);
  }

  #checkTimeline(timeline: number): void {
    const why = whyOtherTimeline(timeline, this.#options.timeline?.());
    if (why !== undefined) throw unfit(why);
  }

  #putLedger({ segments }: CopyPiece, seq: number): void {
    this.#coming ??= { seq, ledger: [] };
    const { ledger } = this.#coming;
    // The segments are valid only until their frame is freed.
    for (const segment of segments) ledger.push(segment.slice());
    if (lengthOf(ledger) > LIMITS.ledgerBytes) throw unfit('the ledger of a shard is too large');
  }

  #complete(shard: number): void {
    if (this.#coming === undefined) throw unfit(`the copy of shard ${shard} has no ledger`);
    if (this.#rounds !== undefined && this.#rounds.place === undefined) throw unfit(`shard ${shard} is in no round`);
    if ((this.#looks === undefined) !== (this.#held.job.looks === undefined))
      throw unfit(`the copy of shard ${shard} does not say, or says needlessly, when it looks for what is unseen`);
    const { seq, ledger } = this.#coming;
    this.#held.hold([shard], {
      ledgers: new Map([[shard, Buffer.concat(ledger)]]),
      seqs: new Map([[shard, seq]]),
      looks: new Map(this.#looks && [[shard, this.#looks]]),
    });
  }

  #whyNotNext(update: Update): string | undefined {
    if (update.type !== 'round') return this.#rounds && `a ${update.type} comes in sync mode`;
    const at = this.#rounds?.place;
    if (at === undefined) return 'a round comes in async mode, or before any shard';
    return whyNotNext(at, this.#options.timeline?.(), update);
  }

  #advanceRounds(round: RoundUpdate, previous: OldValues): void {
    const rounds = this.#rounds!;
    rounds.applied(afterRound(rounds.place!, round, previous));
  }
}

const lengthOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, { byteLength }) => sum + byteLength, 0);

const unfit = (what: string): PaddletError => new PaddletError('BadMessage', what);
