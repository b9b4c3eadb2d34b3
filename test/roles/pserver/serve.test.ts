/** What a pserver refuses before it looks at the content of a request, and again after a wait. */
import { Registry } from 'prom-client';
import { beforeEach, expect, it } from 'vitest';
import type { ReplyHeader, RequestHeader } from '../../../src/protocol/messages/all-messages.ts';
import type { Session } from '../../../src/protocol/messages/channel.ts';
import { registerPserverMetrics } from '../../../src/roles/pserver/metrics.ts';
import { createHandler } from '../../../src/roles/pserver/serve.ts';
import { createServing, type Serving, type ServingOptions } from '../../../src/roles/pserver/serving.ts';
import { OwnedShards } from '../../../src/roles/pserver/shards.ts';
import { FakeClock, SILENT } from '../../store/support.ts';
import { makeParameters, table } from '../../tensor/fixture.ts';

const SPEC = table(2);
const JOB = { job: 'job', batchPlanId: 'plan' };
const PLACEMENT = { revision: '5', shards: 2 };
const SESSION = { onClosed: () => () => {} } as unknown as Session;

let state: { held: boolean; frozen: boolean; applied: number };
let shards: OwnedShards;

beforeEach(() => {
  state = { held: true, frozen: false, applied: 0 };
  const heads = [0, 1].map((shard) => ({ shard, epoch: 1, revision: 5n }));
  const parameters = makeParameters({ spec: SPEC, shards: 2 });
  const job = { spec: SPEC, shards: 2, tasks: 3 };
  shards = new OwnedShards(job, heads, { parameters, ledgers: new Map(), seqs: new Map() });
});

const serving = (other: Partial<ServingOptions> = {}): Serving =>
  createServing({
    host: { clock: new FakeClock(), log: SILENT },
    job: { id: 'job', batchPlanId: 'plan', spec: SPEC, tasks: 3, passes: 1 },
    shards,
    metrics: registerPserverMetrics(new Registry(), () => undefined),
    staleness: { rule: undefined, patienceMs: 1_000 },
    isHeld: () => state.held,
    isFrozen: () => state.frozen,
    recovery: () => 3,
    beforeUpdate: () => undefined,
    checkpoint: async () => undefined,
    rounds: undefined,
    onApplied: () => {
      state.applied += 1;
    },
    ...other,
  });

async function ask(header: RequestHeader, current: Serving | undefined = serving()): Promise<ReplyHeader> {
  const handler = createHandler(
    () => current,
    () => ({ role: 'pserver' }),
  );
  const request = { header, segmentCount: 0, segment: () => new Uint8Array(0), free: () => {} };
  return (await handler(request, SESSION)).header;
}

const push = (header: { push?: number; task?: number } = {}): RequestHeader => {
  const position = { pass: 0, task: 0, push: 0, last: false, good: 1, ...header };
  return { type: 'push', ...JOB, ...position, placement: PLACEMENT, dense: [], sparse: [] };
};
const pull = (placement = PLACEMENT): RequestHeader => ({ type: 'pull', ...JOB, placement, dense: [], sparse: [] });

it('answers for itself before it has any shards, and nothing else', async () => {
  const handler = createHandler(
    () => undefined,
    () => ({ role: 'pserver' }),
  );
  const of = (header: RequestHeader) => ({ header, segmentCount: 0, segment: () => new Uint8Array(0), free: () => {} });
  expect(handler(of({ type: 'info' }), SESSION)).toEqual({ header: { type: 'info', info: { role: 'pserver' } } });
  expect(() => handler(of(pull()), SESSION)).toThrow(expect.objectContaining({ code: 'NotReady' }));
});

it.each<[string, RequestHeader]>([
  ['WrongJob', { type: 'account', ...JOB, job: 'another' }],
  ['WrongBatchPlan', { type: 'account', ...JOB, batchPlanId: 'another' }],
  ['WrongRole', { type: 'getPlan', ...JOB }],
  ['StalePlacement', pull({ revision: '4', shards: 2 })],
  ['StalePlacement', pull({ revision: '5', shards: 1 })],
  ['PushOutOfOrder', push({ push: 1 })],
  ['BadMessage', push({ task: 3 })],
  ['BadMessage', { type: 'rounds', ...JOB, maxWaitMs: 0 }],
])('%s', async (code, header) => {
  await expect(ask(header)).rejects.toMatchObject({ code });
});

it('refuses everything while the lease is not certainly held', async () => {
  state.held = false;
  await expect(ask({ type: 'account', ...JOB })).rejects.toMatchObject({ code: 'Suspended' });
});

it('applies a push once, and counts it', async () => {
  const current = serving();
  expect(await ask(push(), current)).toEqual({ type: 'push', outcome: 'applied', recovery: 3 });
  expect(await ask(push(), current)).toEqual({ type: 'push', outcome: 'duplicate', recovery: 3 });
  expect([state.applied, shards.version]).toEqual([1, 1]);
  expect(await ask(pull(), current)).toEqual({ type: 'pull', version: 1 });
  state.frozen = true;
  await expect(ask(push({ push: 1 }), current)).rejects.toMatchObject({ code: 'Draining' });
});

it('applies nothing when the lease ran out while the first update was being announced', async () => {
  const announced = Promise.withResolvers<void>();
  const answer = ask(push(), serving({ beforeUpdate: () => announced.promise }));
  state.held = false;
  announced.resolve();
  await expect(answer).rejects.toMatchObject({ code: 'Suspended' });
  expect(shards.version).toBe(0);
});
