/**
 * A pserver and a trainer's client for the benchmarks: the handler, parameter memory, ledger, landing and client of the
 * roles, without a store. The pserver is a process of its own.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { createParameterClient, type ParameterClient } from '../../src/cluster/client/parameter-client.ts';
import { createPserverGroup, type PserverGroup } from '../../src/cluster/client/pserver-group.ts';
import type { ClusterContext } from '../../src/cluster/context.ts';
import type { JobRecord } from '../../src/cluster/job/job-record.ts';
import type { Placement, PlacementView } from '../../src/cluster/placement/placement-view.ts';
import { createSignal } from '../../src/cluster/waiting.ts';
import { type LedUnit, type PlacementStamp, stampOf } from '../../src/core/placement.ts';
import { createPushPlan } from '../../src/core/shard/push-plan.ts';
import { createClock } from '../../src/host/clock.ts';
import type { Channel, Network } from '../../src/protocol/messages/channel.ts';
import { OwnedShards } from '../../src/roles/pserver/held/owned-shards.ts';
import { registerPserverMetrics } from '../../src/roles/pserver/metrics.ts';
import { landInParameters } from '../../src/roles/pserver/requests/landing.ts';
import { createHandler } from '../../src/roles/pserver/serve.ts';
import { createServing } from '../../src/roles/pserver/serving.ts';
import { createIdRouter, type IdRouter } from '../../src/tensor/id-router.ts';
import { type OptimizerSpec, trainedSpec } from '../../src/tensor/optimizer.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import { createParameters } from '../../src/tensor/wasm-parameters.ts';
import { firstHeads } from '../../test/roles/pserver/held/owned-heads.ts';
import { type Resident, resident } from './resident.ts';
import { cpuMs, network, realClock, silent } from './wire-peer.ts';

export const SHARDS = 512;
const TASKS = 64;
const JOB = { job: 'bench-job-0123456789', batchPlanId: 'bench-cut-0123456789' };
const SGD: OptimizerSpec = { type: 'sgd', learningRate: 0.01, l2: 0 };

/** Every so many units, from the first one on: what one of several pservers has. */
export interface Part {
  readonly first: number;
  readonly every: number;
}
const ALL: Part = { first: 0, every: 1 };

const unitsOf = ({ first, every }: Part): number[] =>
  Array.from({ length: SHARDS / every }, (_, number) => first + every * number);
const ledUnitsOf = (part: Part): LedUnit[] => unitsOf(part).map((unit) => ({ unit, led: 1 }));
const stampOfPart = (part: Part): PlacementStamp => stampOf(ledUnitsOf(part), { shards: SHARDS, units: SHARDS });

/** Tasks that a bench never comes to the end of. */
const TASK_RECORDS = 2 ** 40;
const ENDLESS: Plan = { recordsPerTask: TASK_RECORDS, batchSize: 1 };

/** The plan of tasks that are repeated, pass after pass. */
export interface Plan {
  readonly recordsPerTask: number;
  readonly batchSize: number;
}

export interface ServeOptions {
  readonly spec: ParameterSpec;
  readonly part: Part;
  readonly plan: Plan;
}

/** A pserver in this process; gives its port. */
export async function listenAsPserver({
  spec,
  part,
  plan: { recordsPerTask, batchSize },
}: ServeOptions): Promise<number> {
  const parameters = createParameters({
    spec: trainedSpec(spec, { optimizer: SGD }),
    seed: 1,
    shards: SHARDS,
    recallsPulls: true,
  });
  const units = unitsOf(part);
  const plan = createPushPlan({
    ...{ records: TASKS * recordsPerTask, tasks: TASKS, recordsPerTask, maxBadRecords: recordsPerTask },
    ...{ batchSize, pushEvery: 1 },
  });
  for (const shard of units) parameters.addShard(shard);
  const shards = new OwnedShards(
    { spec: trainedSpec(spec, { optimizer: SGD }), shards: SHARDS, units: SHARDS, tasks: TASKS },
    firstHeads(units),
    {
      ...{ parameters, ledgers: new Map(), seqs: new Map() },
    },
  );
  const serving = createServing({
    host: { clock: realClock, log: silent },
    job: { id: JOB.job, batchPlanId: JOB.batchPlanId, spec, units: SHARDS, tasks: TASKS, passes: 1_000_000, plan },
    shards,
    metrics: registerPserverMetrics(
      new Registry(),
      realClock,
      () => shards.stats(),
      () => undefined,
    ),
    staleness: { rule: undefined, patienceMs: 10_000 },
    checkMaster: () => {},
    onContradiction: () => {},
    recovery: () => 0,
    rateShare: () => 1,
    isHeld: () => true,
    isFrozen: () => false,
    checkpoint: async () => undefined,
    beforeUpdate: () => undefined,
    rounds: undefined,
    onApplied: () => {},
  });
  const info = (): PserverInfo => ({
    cpuMs: cpuMs(),
    resident: resident(),
    reservedBytes: parameters.stats().reservedBytes,
  });
  const server = await network().listen({
    listen: '127.0.0.1:0',
    http: async () => undefined,
    landing: landInParameters(() => parameters),
    handler: createHandler({ serving: () => serving, info: () => ({ ...info() }), files: () => undefined }),
  });
  return server.port;
}

export interface BenchPserver {
  readonly address: string;
  close(): void;
}

export async function startPserver(spec: ParameterSpec): Promise<BenchPserver> {
  const options: ServeOptions = { spec, part: ALL, plan: ENDLESS };
  const server: ChildProcess = fork(fileURLToPath(import.meta.url), ['serve', JSON.stringify(options)]);
  const [port] = (await once(server, 'message')) as [number];
  return { address: `127.0.0.1:${port}`, close: () => server.disconnect() };
}

export interface BenchTrainer {
  readonly client: ParameterClient;
  readonly channel: Channel;
  close(): void;
}

/** A trainer's client over one connection; `net` says of what kind. */
export function connectTrainer(spec: ParameterSpec, address: string, net: Network = network()): BenchTrainer {
  const channel = net.connect(address);
  const placement = {
    version: 1,
    primaryOf: new Int32Array(SHARDS),
    pservers: [{ index: 0, address, token: 1n, stamp: stampOfPart(ALL), units: [{ unit: 0, led: 1 }] }],
  };
  const ask = (_: unknown, type: string, header: object, segments: readonly Uint8Array[] = []) =>
    channel.request({ header: { type, ...JOB, placement: stampOfPart(ALL), ...header }, segments } as never, {
      timeoutMs: 60_000,
    });
  const group: PserverGroup = {
    withPlacement: (_, attempt) => attempt(placement),
    ask: ask as PserverGroup['ask'],
    sending: () => channel.sending(),
    current: () => placement,
    answers: () => [],
    close: () => {},
  };
  const client = createParameterClient({ spec, shards: SHARDS, group, router: createIdRouter({ shards: SHARDS }) });
  return { client, channel, close: () => channel.close() };
}

/** A trainer's client of several pservers, with all that it has in a job but the store. */
export function connectGroup(spec: ParameterSpec, addresses: readonly string[], router: IdRouter): ParameterClient {
  const every = addresses.length;
  const placement: Placement = {
    version: 1,
    primaryOf: Int32Array.from({ length: SHARDS }, (_, shard) => shard % every),
    pservers: addresses.map((address, index) => {
      const part = { first: index, every };
      return { index, address, token: 1n, stamp: stampOfPart(part), units: ledUnitsOf(part) };
    }),
  };
  const view = { changed: createSignal(), version: () => 1, current: () => placement, missing: () => 'nothing' };
  const context = { host: { clock: createClock(), log: silent }, network: network() };
  const group = createPserverGroup(
    context as unknown as ClusterContext,
    { id: JOB.job, batchPlanId: JOB.batchPlanId } as JobRecord,
    { ...view, isLive: () => true } as unknown as PlacementView,
  );
  return createParameterClient({ spec, shards: SHARDS, group, router });
}

export interface PserverInfo {
  readonly cpuMs: number;
  readonly resident: Resident;
  readonly reservedBytes: number;
}

export async function infoOf({ channel }: BenchTrainer): Promise<PserverInfo> {
  const reply = await channel.request({ header: { type: 'info' } }, { timeoutMs: 30_000 });
  reply.free();
  return reply.header.info as unknown as PserverInfo;
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === 'serve') {
  process.send?.(await listenAsPserver(JSON.parse(process.argv[3]!) as ServeOptions));
  process.once('disconnect', () => process.exit());
}
