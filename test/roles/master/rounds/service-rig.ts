/** A master of a job in sync mode among pservers that are made of a few lines, on a store in memory. */
import { type Action, PaddletError } from '../../../../src/base/errors.ts';
import type { PserverGroup, PserverRequest, RequestFields } from '../../../../src/cluster/client/pserver-group.ts';
import type { JobRecord } from '../../../../src/cluster/job/job-record.ts';
import { type CutView, followCut } from '../../../../src/cluster/placement/cut-view.ts';
import type { PlacedPserver, Placement, PlacementView } from '../../../../src/cluster/placement/placement-view.ts';
import { createSignal, interrupted, pauseOrAborted } from '../../../../src/cluster/waiting.ts';
import { createRoundPlan } from '../../../../src/core/rounds/plan.ts';
import type { ReplyHeader } from '../../../../src/protocol/messages/all-messages.ts';
import type { Received } from '../../../../src/protocol/messages/channel.ts';
import type { SaveMode } from '../../../../src/protocol/messages/to-pserver.ts';
import { aStore, Master } from '../tasks/service-rig.ts';

export const LANES = 2;

type Of<T extends ReplyHeader['type']> = Extract<ReplyHeader, { type: T }>;

/** One pserver's own word. */
export class FakePserver {
  readonly index: number;
  token: bigint;
  /** The epoch with which it began to lead its units. */
  led = 1;
  timeline = 0;
  version = 0;
  oldest = 0;
  missing: number[] = [0, 1];
  isThere = true;
  isSuspended = false;
  /** Cuts asked for, in order. */
  readonly cutsAsked: { timeline: number; round: number; mode?: SaveMode | undefined }[] = [];
  /** How it answers the next ones; otherwise it saves at once. */
  readonly cutAnswers: ('declined' | 'wait' | 'notWritten' | 'lost')[] = [];
  readonly changed = createSignal();
  /** Requests for where it stands. */
  asked = 0;
  #files = new Map<number, string>();
  readonly #life = new AbortController();

  constructor(index: number) {
    this.index = index;
    this.token = BigInt(index + 1);
  }

  set(
    what: Partial<Pick<FakePserver, 'timeline' | 'version' | 'oldest' | 'missing' | 'isThere' | 'isSuspended'>>,
  ): void {
    Object.assign(this, what);
    this.changed.notify();
  }

  async rounds({ above }: RequestFields<'rounds'>, late: AbortSignal): Promise<Of<'rounds'>> {
    this.asked += 1;
    if (this.isSuspended) throw new PaddletError('Suspended', 'cut off from the store');
    if (!this.isThere) throw new PaddletError('ConnectionLost', 'no answer');
    const { led } = this;
    const isNews = (): boolean => above === undefined || this.version > above || this.led !== led;
    await this.changed.until(() => isNews() || undefined, late).catch(() => {});
    if (this.led !== led) throw new PaddletError('StalePlacement', 'other units');
    const { timeline, version, oldest, missing } = this;
    return { type: 'rounds', timeline, version, oldest, missing: [...missing] };
  }

  async cut({ timeline, round, mode }: RequestFields<'cut'>): Promise<Of<'cut'>> {
    this.cutsAsked.push({ timeline, round, mode });
    const answer = this.cutAnswers.shift();
    if (answer === 'notWritten') throw new PaddletError('CheckpointNotWritten', `pserver ${this.index}: disk full`);
    if (answer === 'lost') throw new PaddletError('ConnectionLost', 'no answer');
    if (answer === 'wait') await this.changed.until(() => undefined, this.#life.signal);
    if (answer === 'declined' || timeline !== this.timeline) {
      return { type: 'cut', outcome: 'declined', version: answer === 'declined' ? round + 1 : this.version };
    }
    const uuid = this.#files.get(round) ?? crypto.randomUUID();
    this.#files.set(round, uuid);
    return { type: 'cut', outcome: 'saved', version: round, saved: { uuid, md5: '0'.repeat(32), bytes: 100 } };
  }
}

const PASSING: readonly Action[] = ['retry', 'refresh'];

/** Two pservers, whose answers take no time. */
export class RoundsRig {
  readonly master: Master;
  readonly pservers = [new FakePserver(0), new FakePserver(1)];
  readonly cuts: CutView;
  readonly plan = createRoundPlan({
    taskRecords: new Uint32Array([40, 40]),
    batchSize: 1,
    passes: 2,
    lanes: LANES,
    seed: 1,
  });
  readonly view: PlacementView;
  readonly group: PserverGroup;
  readonly record: JobRecord;
  #placed = createSignal();
  #version = 0;

  constructor(checkpoint: Record<string, unknown> = {}) {
    const { clock, data } = aStore();
    this.master = new Master(clock, data);
    this.cuts = followCut(this.master.context, (error) => this.master.ends.push(error));
    this.record = {
      train: { records: 80, tasks: 2 },
      job: {
        training: { passes: 2, lanes: LANES, seed: 1, batchSize: 1 },
        checkpoint: { intervalMs: 'off', ...checkpoint },
        cluster: { pservers: 2, minTrainers: 1, maxTrainers: 4 },
        tasks: { maxFailures: 1 },
      },
    } as unknown as JobRecord;
    const placement = (): Placement => ({
      version: this.#version,
      primaryOf: new Int32Array(2),
      pservers: this.pservers.map(placedOf),
    });
    this.view = {
      changed: this.#placed,
      isLoaded: () => true,
      current: placement,
      version: () => this.#version,
      missing: () => '',
      desired: () => undefined,
      orphans: () => [],
      liveIndexes: () => [0, 1],
      live: () => [],
      units: () => [],
      isLive: (index, token) => this.pservers[index]!.token === token,
      cancel: () => {},
    };
    this.group = {
      withPlacement: async (_what, attempt, signal) => {
        for (;;) {
          if (signal.aborted) throw interrupted();
          try {
            return await attempt(placement());
          } catch (error) {
            if (!(error instanceof PaddletError) || !PASSING.includes(error.action)) throw error;
          }
          await pauseOrAborted(clock, 50, signal);
        }
      },
      ask: (pserver, type, header) => this.#ask(pserver, type, header),
      sending: () => undefined,
      answers: () => [],
      current: placement,
      close: () => {},
    };
  }

  /** Another process takes the index. */
  startAnew(index: number, what: Partial<FakePserver>): void {
    const pserver = this.pservers[index]!;
    pserver.token += 10n;
    this.#version += 1;
    pserver.set(what);
    this.#placed.notify();
  }

  /** Units move: each of these leads others. */
  move(...indexes: number[]): void {
    this.#version += 1;
    for (const index of indexes) {
      const pserver = this.pservers[index]!;
      pserver.led += 1;
      pserver.changed.notify();
    }
    this.#placed.notify();
  }

  all(what: Parameters<FakePserver['set']>[0]): void {
    for (const pserver of this.pservers) pserver.set(what);
  }

  async #ask<T extends PserverRequest>(to: PlacedPserver, type: T, header: RequestFields<T>): Promise<never> {
    const pserver = this.pservers[to.index]!;
    const { clock } = this.master;
    if (to.stamp.revision !== String(pserver.led)) throw new PaddletError('StalePlacement', 'other units');
    let reply: ReplyHeader;
    if (type === 'rounds') {
      const ask = header as unknown as RequestFields<'rounds'>;
      const late = new AbortController();
      const cancel = clock.after(ask.maxWaitMs, () => late.abort());
      reply = await pserver.rounds(ask, late.signal).finally(cancel);
    } else if (type === 'cut') reply = await pserver.cut(header as unknown as RequestFields<'cut'>);
    else throw new Error(`the pservers of the rig know no ${type}`);
    const received: Received<ReplyHeader> = {
      header: reply,
      segmentCount: 0,
      segment: () => new Uint8Array(0),
      free: () => {},
    };
    return received as never;
  }

  /** What the store has under the key of the cut. */
  async stored(): Promise<unknown> {
    const entry = await this.master.context.store.get(this.master.context.keys.cut);
    return entry && (JSON.parse(entry.value) as unknown);
  }
}

const placedOf = ({ index, token, led }: FakePserver): PlacedPserver => ({
  index,
  token,
  address: `pserver:${index}`,
  stamp: { revision: String(led), shards: 1 },
  units: [{ unit: index, led }],
});
