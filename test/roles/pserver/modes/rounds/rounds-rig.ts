/** The rounds of one pserver without network, store and files. */
import type { CheckpointFile } from '../../../../../src/checkpoint/file/write-durable-file.ts';
import type { LaneBatch } from '../../../../../src/core/rounds/plan.ts';
import { createPushPlan } from '../../../../../src/core/shard/push-plan.ts';
import { shardsOfUnits } from '../../../../../src/core/units/units.ts';
import type { MetricSums } from '../../../../../src/model/model.ts';
import type { RequestHeader } from '../../../../../src/protocol/messages/all-messages.ts';
import type { Received, Session } from '../../../../../src/protocol/messages/channel.ts';
import type { SnapshotSource } from '../../../../../src/roles/pserver/files/snapshots.ts';
import type { HeldJob } from '../../../../../src/roles/pserver/held/held.ts';
import { OwnedShards } from '../../../../../src/roles/pserver/held/owned-shards.ts';
import { Rounds, type RoundsOptions } from '../../../../../src/roles/pserver/modes/rounds/rounds.ts';
import type { RoundUpdate } from '../../../../../src/roles/pserver/update/update.ts';
import { type OptimizerSpec, trainedSpec } from '../../../../../src/tensor/optimizer.ts';
import type { LaneGradients, Parameters } from '../../../../../src/tensor/parameters.ts';
import type { ParameterSpec } from '../../../../../src/tensor/spec.ts';
import { FakeClock } from '../../../../store/support.ts';
import { bytesOf, idBytes, SGD } from '../../../../tensor/fixture.ts';
import { firstHeads } from '../../held/owned-heads.ts';
import { UNTIMED } from '../../untimed.ts';

type Header<T extends RequestHeader['type']> = Extract<RequestHeader, { type: T }>;
export type LaneHeader = Pick<Header<'pushLane'>, 'round' | 'lane'> &
  Partial<Pick<Header<'pushLane'>, 'timeline' | 'batch' | 'metrics' | 'records'>>;

const OF_JOB = { job: 'job', batchPlanId: 'plan' };
const ANY_PLAN = createPushPlan({
  ...{ records: 8_000_000, tasks: 8, recordsPerTask: 1_000_000, batchSize: 1_000, pushEvery: 1, maxBadRecords: 0 },
});
const NO_METRICS: MetricSums = { records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 };

function request<H>(header: H, segments: readonly Uint8Array[] = []): Received<H> {
  return { header, segmentCount: segments.length, segment: (i) => segments[i]!, free: () => {} };
}

export interface RigOptions {
  readonly spec: ParameterSpec;
  readonly parameters: Parameters;
  /** Units. */
  readonly held: readonly number[];
  readonly shards: number;
  /** As many as there are shards unless given. */
  readonly units?: number;
  readonly lanes: number;
  readonly tasks: number;
  readonly version?: number;
  /** Default: SGD. */
  readonly optimizer?: OptimizerSpec;
  /** Required if tables admit or evict. Default: the optimizer for all parameters, no looks. */
  readonly trained?: Pick<HeldJob, 'spec' | 'looks'>;
  /** Units have copies. */
  readonly replicas?: RoundsOptions['replicas'];
  /** Of the learning rate, by round. */
  readonly rateShareOf?: (round: number) => number;
}

/** As `Moves`, for rounds alone. */
export interface PlayedMoves {
  wait(kind: 'read' | 'update'): Promise<void> | undefined;
  applied(make: () => RoundUpdate, units: readonly number[]): Promise<void> | undefined;
}

export class RoundsRig {
  readonly clock = new FakeClock();
  readonly rounds: Rounds;
  readonly ledger: OwnedShards['ledgers'];
  readonly shards: OwnedShards;
  readonly failures: unknown[] = [];
  /** What was to be saved, and how it ends. */
  readonly saves: { readonly source: SnapshotSource; readonly end: PromiseWithResolvers<CheckpointFile> }[] = [];
  /** None, unless a test puts some here. */
  moves: PlayedMoves = { wait: () => undefined, applied: () => undefined };
  /** Saves wait for their turn. */
  holdsSaves = false;
  #held: (() => void)[] = [];
  /** Of the last pull that was answered. */
  waitedMs: number | undefined;
  isHeld = true;
  isFrozen = false;
  #planned: LaneBatch | undefined;
  #close: (() => void)[] = [];
  readonly session = { onClosed: (fire: () => void) => this.#onClosed(fire) } as unknown as Session;

  constructor(options: RigOptions) {
    const { spec, parameters, held, shards, units = shards, lanes, tasks, version = 0, replicas } = options;
    const heads = firstHeads(held);
    const seqs = new Map(shardsOfUnits(held, { shards, units }).map((shard) => [shard, version]));
    const { rateShareOf } = options;
    const { trained = { spec: trainedSpec(spec, { optimizer: options.optimizer ?? SGD }) } } = options;
    const job = { ...trained, shards, units, tasks, rateShareOf };
    const owned = new OwnedShards(job, heads, {
      parameters,
      ledgers: new Map(),
      seqs,
    });
    this.shards = owned;
    this.ledger = owned.ledgers;
    this.rounds = new Rounds({
      clock: this.clock,
      times: UNTIMED,
      ...{ timeline: 0, lanes, spec, shards: owned, grouping: { shards, units } },
      loaded: new Map(held.map((unit) => [unit, { round: version, metrics: [] }])),
      counts: {
        // What a test pushes is as it was planned; counts have tests of their own.
        batches: { batchOf: () => this.#planned, placeOf: (round) => ({ pass: 0, round }) },
        plan: { ...ANY_PLAN, whyUnplanned: () => undefined },
        onContradiction: (error) => void this.failures.push(error),
      },
      replicas,
      moves: {
        wait: (kind) => this.moves.wait(kind),
        applied: (make, units) => this.moves.applied(() => make() as RoundUpdate, units!),
      },
      isHeld: () => this.isHeld,
      isFrozen: () => this.isFrozen,
      save: (_kind, source) => {
        const end = Promise.withResolvers<CheckpointFile>();
        const begin = (): void => void this.saves.push({ source: source(), end });
        if (this.holdsSaves) this.#held.push(begin);
        else begin();
        return end.promise;
      },
      onFatal: (error) => void this.failures.push(error),
      onBug: (error) => void this.failures.push(error),
    });
  }

  #onClosed(fire: () => void): () => void {
    this.#close.push(fire);
    return () => {
      this.#close = this.#close.filter((other) => other !== fire);
    };
  }

  releaseSaves(): void {
    for (const begin of this.#held.splice(0)) begin();
  }

  closeSession(): void {
    for (const fire of this.#close) fire();
  }

  push(header: LaneHeader, { dense, sparse, records }: LaneGradients): 'taken' | 'duplicate' {
    const metrics = { ...NO_METRICS, records };
    const whole: Header<'pushLane'> = {
      ...{ type: 'pushLane', ...OF_JOB, timeline: 0, placement: this.shards.stamp, metrics, records, ...header },
      dense: dense.map(({ parameter }) => ({ parameter })),
      sparse: sparse.map(({ table }) => ({ table })),
    };
    const segments = [
      ...dense.flatMap(({ blocks, gradients }) => [bytesOf(blocks), gradients]),
      ...sparse.flatMap(({ ids, gradients }) => [ids, gradients]),
    ];
    this.#planned = header.batch && { ...header.batch, from: 0, to: records };
    const reply = this.rounds.pushLane(request(whole, segments)).reply.header;
    if (reply.type !== 'pushLane') throw new Error(`answered with ${reply.type}`);
    return reply.outcome;
  }

  /** Blocks by parameter and ids by table; the values in this order. */
  async pull(
    version: number,
    wanted: { blocks?: readonly (readonly number[])[]; ids?: readonly (readonly bigint[])[] } = {},
    { timeline = 0, maxWaitMs = 60_000 } = {},
  ): Promise<Float32Array[]> {
    const { blocks = [], ids = [] } = wanted;
    const header: Header<'pullVersion'> = {
      ...{ type: 'pullVersion', ...OF_JOB, timeline, version, maxWaitMs, placement: this.shards.stamp },
      dense: blocks.map((_, parameter) => ({ parameter })),
      sparse: ids.map((_, table) => ({ table })),
    };
    const segments = [...blocks.map((one) => bytesOf(Uint32Array.from(one))), ...ids.map(idBytes)];
    const reply = await this.rounds.pull(request(header, segments), this.session);
    if (reply.header.type === 'pullVersion') this.waitedMs = reply.header.waitedMs;
    return (reply.segments ?? []).map((bytes) => new Float32Array(new Uint8Array(bytes).buffer));
  }

  position(above?: number, maxWaitMs = 60_000): ReturnType<Rounds['position']> {
    const header: Header<'rounds'> = {
      ...{ type: 'rounds', ...OF_JOB, maxWaitMs, placement: this.shards.stamp },
      ...(above === undefined ? {} : { above }),
    };
    return this.rounds.position(request(header), this.session);
  }

  async cut(round: number, timeline = 0): Promise<unknown> {
    const header: Header<'cut'> = {
      ...{ type: 'cut', ...OF_JOB, placement: this.shards.stamp, masterSecret: 'secret' },
      ...{ timeline, round },
    };
    return (await this.rounds.cut(request(header), this.session)).header;
  }
}
