/**
 * Shards that this pserver holds and does not lead: their ledgers and positions, and what updates do to them. Their
 * primary decides what an update does; here nothing is decided again. The ledgers came with the shards, so they want
 * what the primary has applied, and nothing else: what does not fit them is found out before anything is changed.
 *
 * One object serves shards of several primaries. Those with equal ledgers are judged and advanced as one, and those
 * that got an update before the others part from them until those get it, too. That costs the copy of a ledger in
 * memory, and needs no knowledge of which pserver leads what.
 */
import { unreachable } from '../../../base/assert.ts';
import type { PushPosition } from '../../../core/shard/ledger.ts';
import { createShardLedgers, type ShardLedgers } from '../../../core/shard/ledgers.ts';
import { hasLearningRate, type TrainedSpec } from '../../../tensor/optimizer.ts';
import { type Parameters, SHARD_ACTION } from '../../../tensor/parameters.ts';
import type { ShardPositions } from '../shards.ts';
import type { OldValues } from '../unit-rounds.ts';
import { applyRound } from './apply-round.ts';
import type { ForwardedUpdate } from './forwarded-update.ts';

export interface CopiedShardsOptions {
  readonly spec: TrainedSpec;
  /** Shards of the job, and tasks of a pass. */
  readonly shards: number;
  readonly tasks: number;
  /** In sync mode: what the learning rate is multiplied by in that round. */
  readonly rateShareOf?: ((round: number) => number) | undefined;
}

type Push = Extract<ForwardedUpdate, { type: 'push' }>;

export class CopiedShards {
  readonly #options: CopiedShardsOptions;
  readonly #ledgers: ShardLedgers;
  readonly #held = new Set<number>();
  /** Updates applied, by shard number. */
  readonly #seqs: Float64Array;

  constructor(options: CopiedShardsOptions) {
    this.#options = options;
    this.#ledgers = createShardLedgers(options.tasks, [], new Map());
    this.#seqs = new Float64Array(options.shards);
  }

  /** Throws `CheckpointCorrupt` for a ledger that cannot be read. */
  add(shards: readonly number[], { ledgers, seqs }: ShardPositions): void {
    this.#ledgers.add(shards, ledgers);
    for (const shard of shards) {
      this.#held.add(shard);
      this.#seqs[shard] = seqs.get(shard) ?? 0;
    }
  }

  remove(shards: readonly number[]): void {
    this.#ledgers.remove(shards);
    for (const shard of shards) this.#held.delete(shard);
  }

  positions(shards: readonly number[] = [...this.#held]): ShardPositions {
    return {
      ledgers: new Map(shards.map((shard) => [shard, this.#ledgers.encode(shard)])),
      seqs: new Map(shards.map((shard) => [shard, this.#seqs[shard]!])),
    };
  }

  /** Updates applied to a shard; undefined when it is not one of them. */
  seqOf(shard: number): number | undefined {
    return this.#held.has(shard) ? this.#seqs[shard] : undefined;
  }

  /** Encoded. */
  ledgerOf(shard: number): Uint8Array {
    return this.#ledgers.encode(shard);
  }

  /** Why the update is not the next one of these shards; undefined when it is, for all of them. */
  whyUnfit(shards: readonly number[], update: ForwardedUpdate): string | undefined {
    switch (update.type) {
      case 'push':
        if (update.rateScale !== 1 && !this.#hasRate()) return 'the optimizer has no learning rate to scale';
        return this.#whyUnwanted(shards, this.#applyingOf(shards, update), update.push);
      case 'close':
        return update.tasks.map((task) => this.#whyNotClosed(shards, task)).find((why) => why !== undefined);
      case 'round':
        return this.#whyNoBatches(
          shards,
          update.batches.map(({ position }) => position),
        );
      default:
        return unreachable(update);
    }
  }

  /**
   * An update that fits these shards. In sync mode gives what the round changed, as it was before. Throws what
   * `Parameters.push` throws; then nothing was changed.
   */
  apply(parameters: Parameters, shards: readonly number[], update: ForwardedUpdate): OldValues | undefined {
    switch (update.type) {
      case 'push':
        this.#push(parameters, this.#applyingOf(shards, update), update);
        return undefined;
      case 'close':
        for (const { pass, task, records } of update.tasks)
          this.#count(this.#ledgers.close(pass, task, records, this.#unlessAll(shards)));
        return undefined;
      case 'round': {
        const rateScale = this.#options.rateShareOf?.(update.round) ?? 1;
        const old = applyRound({ ...this.#options, parameters, applying: shards, rateScale }, update);
        for (const { position } of update.batches) this.#ledgers.advance(position, this.#unlessAll(shards));
        this.#count(shards);
        return old;
      }
      default:
        return unreachable(update);
    }
  }

  #push(parameters: Parameters, applying: readonly number[], { push, sparse, dense, rateScale }: Push): void {
    if (applying.length === 0) return;
    parameters.push(sparse, dense, this.#actionsOf(applying), rateScale);
    this.#ledgers.advance(push, this.#unlessAll(applying));
    this.#count(applying);
  }

  #count(applied: readonly number[]): void {
    for (const shard of applied) this.#seqs[shard]! += 1;
  }

  #applyingOf(shards: readonly number[], { shards: applied }: Push): readonly number[] {
    const actions = this.#actionsOf(applied);
    return shards.filter((shard) => actions[shard] === SHARD_ACTION.apply);
  }

  #actionsOf(applying: readonly number[]): Uint8Array {
    const actions = new Uint8Array(this.#options.shards).fill(SHARD_ACTION.skip);
    for (const shard of applying) actions[shard] = SHARD_ACTION.apply;
    return actions;
  }

  /** `applying` are some of the shards. */
  #whyUnwanted(shards: readonly number[], applying: readonly number[], push: PushPosition): string | undefined {
    const verdict = this.#ledgers.judge(push, this.#unlessAll(shards));
    const wanting = verdict.outcome === 'apply' ? (verdict.shards ?? shards) : [];
    if (verdict.outcome !== 'early' && isSameSet(wanting, applying, shards)) return undefined;
    return `push ${push.push} of task ${push.task} in pass ${push.pass} does not fit the copy of the unit`;
  }

  #whyNotClosed(
    shards: readonly number[],
    { pass, task, records }: { pass: number; task: number; records: number },
  ): string | undefined {
    const applied = this.#ledgers.applied(pass, task, this.#unlessAll(shards));
    if (applied.every(({ good }) => good <= records)) return undefined;
    return `task ${task} of pass ${pass} has more records in the copy of the unit than the ${records} that it has`;
  }

  /** Mini-batches of a round are of different tasks, so none is in the way of another one. */
  #whyNoBatches(shards: readonly number[], positions: readonly PushPosition[]): string | undefined {
    if (new Set(positions.map(({ pass, task }) => `${pass}/${task}`)).size < positions.length)
      return 'a round has two mini-batches of one task';
    return positions.map((position) => this.#whyUnwanted(shards, shards, position)).find((why) => why !== undefined);
  }

  /** What is meant for all shards costs less. */
  #unlessAll(shards: readonly number[]): readonly number[] | undefined {
    return shards.length === this.#held.size ? undefined : shards;
  }

  #hasRate(): boolean {
    const { dense, sparse } = this.#options.spec;
    return [...dense, ...sparse].every(({ optimizer }) => hasLearningRate(optimizer));
  }
}

/** Both are of `all`, each shard once. */
function isSameSet(some: readonly number[], others: readonly number[], all: readonly number[]): boolean {
  if (some.length !== others.length) return false;
  if (some.length === 0 || some.length === all.length) return true;
  const set = new Set(some);
  return others.every((shard) => set.has(shard));
}
