/**
 * A unit that moves to this pserver and that it does not lead yet: values, state, positions and ledgers of the shards
 * that have come, and the updates since. Its source decides what an update does; here nothing is decided again.
 */
import { unreachable } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { addPassMetrics } from '../../../core/pass-metrics.ts';
import type { PushPosition } from '../../../core/shard/ledger.ts';
import { createShardLedgers, type ShardLedgers } from '../../../core/shard/ledgers.ts';
import { hasLearningRate, type TrainedSpec } from '../../../tensor/optimizer.ts';
import { type DensePart, type Parameters, SHARD_ACTION, type SparsePart } from '../../../tensor/parameters.ts';
import type { ShardPositions } from '../shards.ts';
import type { ForwardedRound, TimedRounds } from '../unit-rounds.ts';
import { applyRound } from './apply-round.ts';
import { type CopyPiece, putPiece } from './copy-pieces.ts';
import { IncomingRounds } from './rounds-pieces.ts';

/** An update that the source has applied, for those who follow it. */
export type ForwardedUpdate =
  | {
      readonly type: 'push';
      readonly push: PushPosition;
      /** Shards that applied it; the source's others had it before. */
      readonly shards: readonly number[];
      readonly rateScale: number;
      /** May also have rows and blocks of other units. */
      readonly dense: readonly DensePart[];
      readonly sparse: readonly SparsePart[];
    }
  | {
      readonly type: 'close';
      readonly tasks: readonly { readonly pass: number; readonly task: number; readonly records: number }[];
    }
  | ForwardedRound;

export interface IncomingUnitOptions {
  /** Where the copy goes; the shards of the unit are not present there. */
  readonly parameters: Parameters;
  readonly spec: TrainedSpec;
  /** Shards of the job, and tasks of a pass. */
  readonly shards: number;
  readonly tasks: number;
  /** In sync mode: the timeline of this pserver; undefined while it goes back to a cut. */
  readonly timeline?: (() => number | undefined) | undefined;
}

export class IncomingUnit {
  readonly #options: IncomingUnitOptions;
  /** Of the shards that are complete. */
  readonly #ledgers: ShardLedgers;
  readonly #seqs = new Map<number, number>();
  /** In memory, complete or not. */
  readonly #present = new Set<number>();
  /** In sync mode. */
  readonly #rounds: IncomingRounds | undefined;
  /** Of the shard that is coming, once there is something of its ledger. */
  #coming: { readonly seq: number; readonly ledger: Uint8Array[] } | undefined;

  constructor(options: IncomingUnitOptions) {
    this.#options = options;
    this.#ledgers = createShardLedgers(options.tasks, [], new Map());
    this.#rounds = options.timeline && new IncomingRounds(options.spec);
  }

  /**
   * The next piece of a shard. Throws what `putPiece` throws, and `CheckpointCorrupt` for a ledger that cannot be read:
   * then the copy is of no use, and is to be discarded.
   */
  put(shard: number, piece: CopyPiece, isFirst: boolean, isLast: boolean): void {
    const { parameters, spec } = this.#options;
    if (isFirst) {
      parameters.addShard(shard);
      this.#present.add(shard);
      this.#coming = undefined;
    }
    const { header } = piece;
    if (header.part === 'ledger') this.#putLedger(piece, header.seq);
    else if (header.part === 'rounds' || header.part === 'oldRows' || header.part === 'oldBlocks')
      this.#putRounds(piece);
    else putPiece(parameters, shard, spec, piece);
    if (isLast) this.#complete(shard);
  }

  /** To these shards, all of them complete. Throws when it does not fit the copy, which is then to be discarded. */
  apply(shards: readonly number[], update: ForwardedUpdate): void {
    if (this.#rounds !== undefined && update.type !== 'round') throw unfit(`a ${update.type} comes in sync mode`);
    switch (update.type) {
      case 'push':
        this.#push(
          shards.filter((shard) => update.shards.includes(shard)),
          update,
        );
        break;
      case 'close':
        for (const { pass, task, records } of update.tasks) this.#close(pass, task, records);
        break;
      case 'round':
        this.#round(shards, update);
        break;
      default:
        unreachable(update);
    }
  }

  /** Of all shards, for `OwnedShards.add`. */
  positions(): ShardPositions {
    const ledgers = [...this.#seqs.keys()].map((shard) => [shard, this.#ledgers.encode(shard)] as const);
    return { ledgers: new Map(ledgers), seqs: new Map(this.#seqs) };
  }

  /** In sync mode: where the unit is in the rounds, and on which timeline. */
  rounds(): TimedRounds | undefined {
    return this.#rounds?.state();
  }

  /** Frees the memory. */
  discard(): void {
    for (const shard of this.#present) this.#options.parameters.dropShard(shard);
    this.#present.clear();
  }

  /** What is of another timeline is of no use here, and what is here of none there. */
  #putRounds(piece: CopyPiece): void {
    if (this.#rounds === undefined) throw unfit('a copy of a job in async mode says where it is in the rounds');
    if (piece.header.part === 'rounds') this.#checkTimeline(piece.header.timeline);
    this.#rounds.put(piece);
  }

  #checkTimeline(timeline: number): void {
    const here = this.#options.timeline?.();
    if (timeline !== here) throw unfit(`the unit is on timeline ${timeline}, and this pserver on ${here ?? 'none'}`);
  }

  #putLedger({ segments }: CopyPiece, seq: number): void {
    this.#coming ??= { seq, ledger: [] };
    const { ledger } = this.#coming;
    // The segments are gone when their frame is.
    for (const segment of segments) ledger.push(segment.slice());
    if (lengthOf(ledger) > LIMITS.ledgerBytes) throw unfit('the ledger of a shard is too large');
  }

  #complete(shard: number): void {
    if (this.#coming === undefined) throw unfit(`the copy of shard ${shard} has no ledger`);
    if (this.#rounds !== undefined && this.#rounds.state() === undefined) throw unfit(`shard ${shard} is in no round`);
    const { seq, ledger } = this.#coming;
    this.#ledgers.add([shard], new Map([[shard, Buffer.concat(ledger)]]));
    this.#seqs.set(shard, seq);
  }

  #close(pass: number, task: number, records: number): void {
    for (const shard of this.#ledgers.close(pass, task, records)) this.#seqs.set(shard, this.#seqs.get(shard)! + 1);
  }

  #push(applying: readonly number[], update: Extract<ForwardedUpdate, { type: 'push' }>): void {
    const { parameters, shards } = this.#options;
    const { push, dense, sparse, rateScale } = update;
    if (rateScale !== 1 && !this.#hasRate()) throw unfit('a rate is scaled that the optimizer does not have');
    this.#checkWanted(applying, push);
    if (applying.length === 0) return;
    const actions = new Uint8Array(shards).fill(SHARD_ACTION.skip);
    for (const shard of applying) actions[shard] = SHARD_ACTION.apply;
    parameters.push(sparse, dense, actions, rateScale);
    this.#ledgers.advance(push);
    for (const shard of applying) this.#seqs.set(shard, this.#seqs.get(shard)! + 1);
  }

  /** Exactly what the source did, so that the bits are the same. */
  #round(shards: readonly number[], update: ForwardedRound): void {
    const { timeline, round, batches } = update;
    const before = this.#rounds?.state();
    if (before === undefined) throw unfit('a round comes in async mode, or before any shard');
    this.#checkTimeline(timeline);
    if (before.version !== round) throw unfit(`round ${round} comes to a unit at version ${before.version}`);
    let { metrics } = before;
    for (const { position, metrics: added } of batches) {
      this.#checkWanted(shards, position);
      this.#ledgers.advance(position);
      metrics = addPassMetrics(metrics, position.pass, added);
    }
    const previous = applyRound({ ...this.#options, applying: shards }, update);
    for (const shard of shards) this.#seqs.set(shard, this.#seqs.get(shard)! + 1);
    this.#rounds!.applied({ timeline, version: round + 1, previous, metrics });
  }

  #hasRate(): boolean {
    const { dense, sparse } = this.#options.spec;
    return [...dense, ...sparse].every(({ optimizer }) => hasLearningRate(optimizer));
  }

  /** The ledgers came with the shards, so they want what the source has applied, and nothing else. */
  #checkWanted(applying: readonly number[], push: PushPosition): void {
    const verdict = this.#ledgers.judge(push);
    const wanting = verdict.outcome === 'apply' ? (verdict.shards ?? [...this.#seqs.keys()]) : [];
    const isSame = wanting.length === applying.length && wanting.every((shard) => applying.includes(shard));
    if (verdict.outcome === 'early' || !isSame) {
      throw unfit(`push ${push.push} of task ${push.task} in pass ${push.pass} does not fit the copy of the unit`);
    }
  }
}

const lengthOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, { byteLength }) => sum + byteLength, 0);

const unfit = (what: string): PaddletError => new PaddletError('BadMessage', what);
