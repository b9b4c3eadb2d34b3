/** The lanes of the current round, each checked and copied when it arrives, kept until the round is applied. */
import { PaddletError } from '../../../base/errors.ts';
import type { PushPosition } from '../../../core/shard/ledger.ts';
import type { MetricSums } from '../../../model/model.ts';
import type { LaneGradients } from '../../../tensor/lane-fold.ts';
import type { DensePart, SparsePart } from '../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';
import { gradientParts } from '../request-parts.ts';
import type { Header, Request } from '../requests.ts';
import type { OwnedShards } from '../shards.ts';

export interface Lane extends LaneGradients {
  /** Undefined when the lane has no mini-batch in this round. */
  readonly position: PushPosition | undefined;
  readonly metrics: MetricSums;
}

export class RoundLanes {
  readonly #spec: ParameterSpec;
  readonly #shards: OwnedShards;
  readonly #lanes: (Lane | undefined)[];

  constructor({ lanes, spec, shards }: { lanes: number; spec: ParameterSpec; shards: OwnedShards }) {
    this.#spec = spec;
    this.#shards = shards;
    this.#lanes = Array.from({ length: lanes }, () => undefined);
  }

  /** Throws `BadMessage` for a lane that the job does not have. */
  checkNumber(lane: number): void {
    if (lane >= this.#lanes.length) throw badLane(lane, `the job has ${this.#lanes.length} lanes`);
  }

  /**
   * Checks the whole lane, so that applying the round can fail only for want of memory or by an overflow of sums.
   * Throws `BadMessage` and what `Parameters.check` throws; then nothing is kept.
   */
  keep(request: Request<'pushLane'>): void {
    const { header } = request;
    checkBatch(this.#shards, header);
    if (header.records === 0 && request.segmentCount > 0) throw badLane(header.lane, 'gradients of no record');
    const arrived = gradientParts(request);
    if (header.records > 0) this.#checkBlocks(header.lane, arrived.dense);
    this.#shards.parameters.check(arrived.sparse, arrived.dense, this.#shards.actions(undefined));
    // The parts are viewed again: checking may have moved the memory that they are in.
    this.#lanes[header.lane] = {
      records: header.records,
      metrics: header.metrics,
      position: header.batch,
      ...copyOf(gradientParts(request)),
    };
  }

  /** Of the current round, once it is here. */
  of(lane: number): Lane | undefined {
    return this.#lanes[lane];
  }

  /** Of a complete round, in lane order. */
  all(): Lane[] {
    return this.#lanes.map((lane) => lane!);
  }

  clear(): void {
    this.#lanes.fill(undefined);
  }

  /** Every lane has all blocks of these shards: else folding could not tell which of them a lane left out. */
  #checkBlocks(lane: number, parts: readonly DensePart[]): void {
    this.#shards.blocks.forEach((expected, parameter) => {
      const present = parts.filter((part) => part.parameter === parameter);
      const count = present.reduce((sum, part) => sum + part.blocks.length, 0);
      if (present.length <= 1 && count === expected.length) return;
      const { name } = this.#spec.dense[parameter]!;
      throw badLane(lane, `${count} blocks of ${name} in ${present.length} parts, not ${expected.length}`);
    });
  }
}

/** The ledgers must accept the mini-batch when the round is applied. */
function checkBatch({ ledgers }: OwnedShards, { batch, lane, records }: Header<'pushLane'>): void {
  if (batch === undefined) {
    if (records > 0) throw badLane(lane, 'records of no mini-batch');
    return;
  }
  if (ledgers.judge(batch).outcome !== 'apply') {
    throw badLane(lane, `push ${batch.push} of task ${batch.task} in pass ${batch.pass} is not the next one`);
  }
}

interface LaneParts {
  readonly dense: readonly DensePart[];
  readonly sparse: readonly SparsePart[];
}

function copyOf({ dense, sparse }: LaneParts): LaneParts {
  const copied = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);
  return {
    dense: dense.map((part) => ({ ...part, blocks: part.blocks.slice(), gradients: copied(part.gradients) })),
    sparse: sparse.map((part) => ({ ...part, ids: copied(part.ids), gradients: copied(part.gradients) })),
  };
}

const badLane = (lane: number, why: string): PaddletError => new PaddletError('BadMessage', `lane ${lane}: ${why}`);
