/** A pserver of two units with two shards and one table, as a request meets it. */
import { Registry } from 'prom-client';
import { PaddletError } from '../../../src/base/errors.ts';
import { stampOf } from '../../../src/core/placement.ts';
import { createPushPlan } from '../../../src/core/shard/push-plan.ts';
import type { ReplyHeader, RequestHeader } from '../../../src/protocol/messages/all-messages.ts';
import type { Session } from '../../../src/protocol/messages/channel.ts';
import { OwnedShards } from '../../../src/roles/pserver/held/owned-shards.ts';
import { registerPserverMetrics } from '../../../src/roles/pserver/metrics.ts';
import { createHandler } from '../../../src/roles/pserver/serve.ts';
import { createServing, type Serving, type ServingOptions } from '../../../src/roles/pserver/serving.ts';
import { trainedSpec } from '../../../src/tensor/optimizer.ts';
import { FakeClock, SILENT } from '../../store/support.ts';
import { makeParameters, SGD, table } from '../../tensor/fixture.ts';
import { ownedHeads } from './held/owned-heads.ts';

export const SPEC = table(2);
export const JOB = { job: 'job', batchPlanId: 'plan' };
export const HEADS = [0, 1].map((unit) => ({ unit, epoch: 1, led: 1 }));
export const PLACEMENT = stampOf(HEADS, { units: 2, shards: 2 });
export const ASKED = { ...JOB, placement: PLACEMENT };
/** Three tasks of four records, pushes of two. */
export const PLAN = createPushPlan({
  ...{ records: 12, tasks: 3, recordsPerTask: 4, batchSize: 2, pushEvery: 1, maxBadRecords: 1 },
});
/** Of all that is served. */
export const clock = new FakeClock();
export const SESSION = { onClosed: () => () => {} } as unknown as Session;

/** New after `resetServed`. */
export let state: { held: boolean; frozen: boolean; applied: number; contradictions: string[] };
export let shards: OwnedShards;

/** To be called before each test. */
export function resetServed(): void {
  state = { held: true, frozen: false, applied: 0, contradictions: [] };
  const parameters = makeParameters({ spec: SPEC, shards: 2 });
  const job = { spec: trainedSpec(SPEC, { optimizer: SGD }), shards: 2, units: 2, tasks: 3 };
  shards = new OwnedShards(job, ownedHeads(HEADS), { parameters, ledgers: new Map(), seqs: new Map() });
}

export const serving = (other: Partial<ServingOptions> = {}): Serving =>
  createServing({
    host: { clock, log: SILENT },
    job: { id: 'job', batchPlanId: 'plan', spec: SPEC, units: 2, tasks: 3, passes: 1, plan: PLAN },
    shards,
    metrics: registerPserverMetrics(
      new Registry(),
      clock,
      () => undefined,
      () => undefined,
    ),
    staleness: { rule: undefined, patienceMs: 1_000 },
    rateShare: () => 1,
    isHeld: () => state.held,
    isFrozen: () => state.frozen,
    checkMaster: (secret) => {
      if (secret !== 'of the master') throw new PaddletError('NotMaster', 'another secret');
    },
    onContradiction: (error) => void state.contradictions.push(error.message),
    recovery: () => 3,
    beforeUpdate: () => undefined,
    checkpoint: async () => undefined,
    rounds: undefined,
    onApplied: () => {
      state.applied += 1;
    },
    ...other,
  });

export const ask = (header: RequestHeader, current: Serving = serving()): Promise<ReplyHeader> =>
  askOf(header, () => current);

export async function askOf(header: RequestHeader, current: () => Serving): Promise<ReplyHeader> {
  const handler = createHandler({
    serving: current,
    info: () => ({ role: 'pserver' }),
    files: () => undefined,
  });
  const request = { header, segmentCount: 0, segment: () => new Uint8Array(0), free: () => {} };
  return (await handler(request, SESSION)).header;
}

export const push = (header: { push?: number; task?: number; last?: boolean; good?: number } = {}): RequestHeader => {
  const number = header.push ?? 0;
  const position = { pass: 0, task: 0, push: number, last: number === 1, good: 2 * (number + 1), ...header };
  return { type: 'push', ...JOB, ...position, placement: PLACEMENT, dense: [], sparse: [] };
};
export const pull = (placement = PLACEMENT): RequestHeader => ({
  type: 'pull',
  ...JOB,
  placement,
  dense: [],
  sparse: [],
});
