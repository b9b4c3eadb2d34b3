/** One trainer of the rig: the real loop, view, reader and clients, and a master that says what the test wants. */
import { Registry } from 'prom-client';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { Clock } from '../../../../src/base/seams.ts';
import type { MasterClient } from '../../../../src/cluster/client/master-client.ts';
import { createPserverGroup } from '../../../../src/cluster/client/pserver-group.ts';
import { createVersionClient } from '../../../../src/cluster/client/version-client.ts';
import type { RoleContext } from '../../../../src/cluster/context.ts';
import type { JobRecord } from '../../../../src/cluster/job/job-record.ts';
import { createSignal } from '../../../../src/cluster/waiting.ts';
import type { ReplyHeader, RequestHeader } from '../../../../src/protocol/messages/all-messages.ts';
import type { Outgoing } from '../../../../src/protocol/messages/channel.ts';
import { createActivity } from '../../../../src/roles/trainer/activity.ts';
import { GradientCheck } from '../../../../src/roles/trainer/compute/gradient-check.ts';
import { followLaneAssignment } from '../../../../src/roles/trainer/rounds/lane-assignment.ts';
import { createLaneReader } from '../../../../src/roles/trainer/rounds/lane-reader.ts';
import { runRounds } from '../../../../src/roles/trainer/rounds/loop.ts';
import type { Dice } from '../../../sim/dice.ts';
import type { Timeline } from '../../../sim/timeline.ts';
import { CountedGradients } from './counted-gradients.ts';
import { MODEL, PASSES, planOf, recordsOf, SPEC } from './rounds-job.ts';
import { createRouter, type RigCluster, SHARDS } from './rounds-rig.ts';

export type Report = Extract<RequestHeader, { type: 'failLane' | 'roundStuck' }>;

/** Deals lanes; keeps what it is told. */
export class RigMaster {
  readonly reports: Report[] = [];
  /** Trainers that handed their lanes back. */
  readonly left: string[] = [];
  readonly changed = createSignal();
  number = 1;
  over = false;
  /** Rounds that may be computed. */
  until = planOf().firstOf(PASSES);
  owners: readonly (readonly string[])[] = [];
  readonly #timeline: Timeline;
  readonly #dice: Dice;

  constructor(timeline: Timeline, dice: Dice) {
    this.#timeline = timeline;
    this.#dice = dice;
  }

  deal(owners: readonly (readonly string[])[]): void {
    this.owners = owners;
    this.number += 1;
    this.changed.notify();
  }

  end(): void {
    this.over = true;
    this.deal(this.owners);
  }

  goOn(until: number): void {
    this.until = until;
    this.deal(this.owners);
  }

  client(): MasterClient {
    const request = async ({ header }: Outgoing<RequestHeader>, { signal }: { signal: AbortSignal }) => {
      await new Promise<void>((resolve) => this.#timeline.after(this.#dice.between(0.1, 3), resolve));
      const reply = await this.#answer(header, signal);
      return { header: reply, segmentCount: 0, segment: () => new Uint8Array(0), free: () => {} };
    };
    const tell = async ({ header }: Outgoing<RequestHeader>): Promise<undefined> => {
      if (header.type === 'returnLanes') this.left.push(header.trainer);
    };
    return { request: request as MasterClient['request'], tell, close: () => {} };
  }

  async #answer(header: RequestHeader, signal: AbortSignal): Promise<ReplyHeader> {
    switch (header.type) {
      case 'getLanes':
        await this.changed.until(() => (this.number === header.known ? undefined : true), signal);
        return {
          type: 'getLanes',
          number: this.number,
          done: this.over,
          until: this.until,
          owners: this.owners.map((one) => [...one]),
        };
      case 'failLane':
      case 'roundStuck':
        this.reports.push(header);
        return { type: header.type };
      default:
        throw new Error(`the master of the rig knows no ${header.type}`);
    }
  }
}

export interface RigTrainer {
  readonly id: string;
  /** How its loop ended. */
  outcome: 'running' | 'over' | 'interrupted' | Error;
  /** Dies: nothing that it sends after this arrives. */
  kill(): void;
  /** SIGTERM. */
  stop(): void;
  readonly spent: () => Readonly<Record<string, number>>;
  tasksHeld(): number;
  /** Arrays of gradients that were not given back. */
  gradientsHeld(): number;
}

export interface TrainerOptions {
  readonly id: string;
  readonly cluster: RigCluster;
  readonly master: RigMaster;
  readonly timeline: Timeline;
  readonly log: string[];
  /** Changes what its model makes. */
  readonly model?: typeof MODEL;
  readonly read?: typeof recordsOf;
  readonly maxGradientNorm?: number;
}

export function startTrainer(options: TrainerOptions): RigTrainer {
  const { id, cluster, master, timeline } = options;
  const clock: Clock = {
    monotonicMs: () => timeline.nowMs,
    wallSeconds: () => timeline.nowMs / 1000,
    after: (delayMs, fire) => timeline.after(delayMs, fire),
  };
  const say = (message: string): void => void options.log.push(`${id}: ${message}`);
  const log = { debug: () => {}, info: say, warn: say, error: say };
  const context = {
    host: { clock, log },
    network: { connect: (address: string) => cluster.connect(address) },
    registry: new Registry(),
  } as unknown as RoleContext;
  const record = { id: 'job', cut: 'cut', job: { training: { passes: PASSES } } } as unknown as JobRecord;
  const stop = new AbortController();
  let isDraining = false;
  const plan = planOf();
  const read = options.read ?? recordsOf;
  const reader = createLaneReader(
    plan,
    async (task) => {
      await new Promise<void>((resolve) => timeline.after(1, resolve));
      return read(task);
    },
    (records) => records,
  );
  const group = createPserverGroup(context, record, cluster.view());
  const router = createRouter();
  const activity = createActivity(clock);
  const gradients = new CountedGradients();
  const trainer: RigTrainer = {
    id,
    outcome: 'running',
    kill: () => {
      group.close();
      stop.abort();
    },
    stop: () => {
      isDraining = true;
      stop.abort();
    },
    spent: () => activity.spentMs(),
    tasksHeld: () => reader.held(),
    gradientsHeld: () => gradients.held.size,
  };
  const client = master.client();
  const onFatal = (error: Error): void => {
    trainer.outcome = error;
    stop.abort();
  };
  const lanes = followLaneAssignment({
    record,
    id,
    clock,
    master: client,
    onSaveWanted: () => true,
    onFatal,
    stopSignal: stop.signal,
  });
  const { maxGradientNorm } = options;
  const onBadGradient = maxGradientNorm === undefined ? 'fail' : 'clip';
  const gradientRules = { onBadGradient, maxGradientNorm } as const;
  runRounds({
    context,
    record,
    id,
    model: gradients.of({ ...MODEL, ...options.model }) as never,
    plan,
    reader,
    master: client,
    client: createVersionClient({ spec: SPEC, shards: SHARDS, group, router }),
    router,
    activity,
    gradientCheck: new GradientCheck(gradientRules, log, SPEC.dense),
    times: { answered: () => {} },
    lanes,
    stopSignal: stop.signal,
    isDraining: () => isDraining,
  }).then(
    () => {
      trainer.outcome = 'over';
    },
    (error: unknown) => {
      const isInterruption = error instanceof PaddletError && error.code === 'Interrupted';
      trainer.outcome = isInterruption ? 'interrupted' : (error as Error);
    },
  );
  return trainer;
}
