/**
 * Sync mode: reads lanes as they arrive. Each lane is checked completely and copied, and kept until its round is
 * applied.
 */
import { PaddletError } from '../../../../base/errors.ts';
import type { PushPosition } from '../../../../core/shard/ledger.ts';
import type { MetricSums } from '../../../../model/model.ts';
import type { DensePart, LaneGradients } from '../../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../../tensor/spec.ts';
import type { OwnedShards } from '../../held/owned-shards.ts';
import { gradientParts } from '../../requests/request-parts.ts';
import type { Header, Request } from '../../requests/requests.ts';
import type { CopiedLane, LaneMemory } from './lane-memory.ts';

export interface Lane extends LaneGradients, CopiedLane {
  /** Undefined if the lane has no mini-batch in this round. */
  readonly position: PushPosition | undefined;
  readonly metrics: MetricSums;
}

export interface LaneChecks {
  readonly spec: ParameterSpec;
  readonly shards: OwnedShards;
  /** Number of lanes of the job. */
  readonly lanes: number;
}

/** Throws `BadMessage` for a lane that the job does not have. */
export function checkLaneNumber(lane: number, { lanes }: LaneChecks): void {
  if (lane >= lanes) throw badLane(lane, `the job has ${lanes} lanes`);
}

/**
 * Checks the whole lane, so that applying the round can fail only if memory runs out or sums overflow. The lane is
 * copied into `memory`. `taking`: shards to which the lane will be applied; undefined: all shards. Throws `BadMessage`
 * and the errors of `Parameters.check`.
 */
export function readLane(
  { spec, shards }: LaneChecks,
  request: Request<'pushLane'>,
  taking: readonly number[] | undefined,
  memory: LaneMemory,
): Lane {
  const { header } = request;
  checkBatch(shards, header, taking);
  if (header.records === 0 && request.segmentCount > 0) throw badLane(header.lane, 'gradients of no record');
  const arrived = gradientParts(request);
  if (header.records > 0) checkBlocks({ spec, shards }, header.lane, arrived.dense);
  shards.check(arrived);
  return {
    records: header.records,
    metrics: header.metrics,
    position: header.batch,
    // View the parts again: checking may have moved the memory that contains them.
    ...memory.copyOf(gradientParts(request)),
  };
}

/** Checks that the ledgers will accept the mini-batch when the round is applied. */
function checkBatch(
  { ledgers }: OwnedShards,
  { batch, lane, records }: Header<'pushLane'>,
  taking: readonly number[] | undefined,
): void {
  if (batch === undefined) {
    if (records > 0) throw badLane(lane, 'records of no mini-batch');
    return;
  }
  const judged = ledgers.judge(batch);
  if (judged.outcome === 'apply' && isSubset(taking, judged.shards)) return;
  throw badLane(lane, `push ${batch.push} of task ${batch.task} in pass ${batch.pass} is not the next one`);
}

/** Whether `those` contain all of `some`; undefined means all shards. */
const isSubset = (some: readonly number[] | undefined, those: readonly number[] | undefined): boolean =>
  those === undefined || some?.every((shard) => those.includes(shard)) === true;

/**
 * Checks that the lane has all blocks of these shards. Otherwise folding could not tell which blocks a lane left out.
 */
function checkBlocks({ spec, shards }: Omit<LaneChecks, 'lanes'>, lane: number, parts: readonly DensePart[]): void {
  shards.blocks.forEach((expected, parameter) => {
    const present = parts.filter((part) => part.parameter === parameter);
    const count = present.reduce((sum, part) => sum + part.blocks.length, 0);
    if (present.length <= 1 && count === expected.length) return;
    const { name } = spec.dense[parameter]!;
    throw badLane(lane, `${count} blocks of ${name} in ${present.length} parts, not ${expected.length}`);
  });
}

const badLane = (lane: number, why: string): PaddletError => new PaddletError('BadMessage', `lane ${lane}: ${why}`);
