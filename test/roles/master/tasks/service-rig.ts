/**
 * A master's service and its pipeline on a store in memory whose transactions can be held back, refused or left in
 * doubt.
 */

import { Registry } from 'prom-client';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { Host } from '../../../../src/base/seams.ts';
import type { RoleContext } from '../../../../src/cluster/context.ts';
import { loadQueue } from '../../../../src/cluster/job/queue-store.ts';
import { createTroubles } from '../../../../src/cluster/troubles.ts';
import type { TaskQueue } from '../../../../src/core/tasks/events.ts';
import { createTaskQueue } from '../../../../src/core/tasks/queue.ts';
import { createStorage } from '../../../../src/host/storage.ts';
import { loadHistory } from '../../../../src/roles/master/load-history.ts';
import { TaskHistory } from '../../../../src/roles/master/tasks/history.ts';
import { createSavePipeline, type SavePipeline } from '../../../../src/roles/master/tasks/save-pipeline.ts';
import { createTaskService, type TaskService } from '../../../../src/roles/master/tasks/service.ts';
import type { Fence } from '../../../../src/store/fence.ts';
import { keysOf } from '../../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../../src/store/memory-store.ts';
import type { Store, Txn, TxnResult } from '../../../../src/store/store.ts';
import { configOf, type RigOptions } from '../../../core/tasks/queue-rig.ts';
import { FakeClock, RecordingLog } from '../../../store/support.ts';

type Trouble = 'unavailable' | 'unknownLanded' | 'unknownLost' | 'unknownLate';

const away = (): PaddletError => new PaddletError('StoreUnavailable', 'the store is unreachable');
const doubtful = (): PaddletError => new PaddletError('StoreUnknownOutcome', 'no answer in time');

/** Writes (transactions that put or delete) can be held back; reads never are. */
export class TroubledStore {
  readonly data: MemoryStoreData;
  /** Transactions that wrote, as they were sent, and whether they succeeded. */
  readonly writes: { readonly txn: Txn; readonly succeeded: boolean }[] = [];
  isAway = false;
  #inner: MemoryStore;
  #gate: PromiseWithResolvers<void> | undefined;
  #troubles: Trouble[] = [];
  #late: Txn[] = [];

  constructor(data: MemoryStoreData) {
    this.data = data;
    this.#inner = new MemoryStore(data);
  }

  hold(): void {
    this.#gate ??= Promise.withResolvers();
  }

  releaseHold(): void {
    this.#gate?.resolve();
    this.#gate = undefined;
  }

  /** The next writes meet these, one each. */
  next(...troubles: Trouble[]): void {
    this.#troubles.push(...troubles);
  }

  /** What was given up lands now, long after; whether it did. */
  landLate(): boolean[] {
    return this.#late.splice(0).map((txn) => this.#apply(txn).succeeded);
  }

  get store(): Store {
    const inner = this.#inner;
    return {
      url: 'memory:',
      identity: inner.identity,
      get: (key) => this.#reach(() => inner.get(key)),
      range: (query) => this.#reach(() => inner.range(query)),
      leaseGrant: inner.leaseGrant,
      leaseKeepAlive: inner.leaseKeepAlive,
      leaseRevoke: inner.leaseRevoke,
      watch: (prefix, from, handlers) => inner.watch(prefix, from, handlers),
      close: () => inner.close(),
      txn: (txn) => this.#reach(() => this.#txn(txn)),
    };
  }

  async #reach<T>(call: () => Promise<T>): Promise<T> {
    if (this.isAway) throw away();
    return call();
  }

  async #txn(txn: Txn): Promise<TxnResult> {
    if (txn.then.every((op) => 'get' in op)) return this.#inner.txn(txn);
    if (this.#gate !== undefined) await this.#gate.promise;
    const trouble = this.#troubles.shift();
    if (trouble === 'unavailable' || this.isAway) throw away();
    if (trouble === 'unknownLate') this.#late.push(txn);
    if (trouble === 'unknownLate' || trouble === 'unknownLost') throw doubtful();
    const result = this.#apply(txn);
    if (trouble === 'unknownLanded') throw doubtful();
    return result;
  }

  #apply(txn: Txn): TxnResult {
    const result = this.data.txn(txn);
    this.writes.push({ txn, succeeded: result.succeeded });
    return result;
  }
}

/** Everything that follows from what has happened has happened. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A master with the lock: it may be one of several after another, or at once, on the same store. */
export class Master {
  readonly clock: FakeClock;
  readonly log = new RecordingLog();
  readonly troubled: TroubledStore;
  readonly context: RoleContext;
  readonly fence: Fence;
  readonly stopSignal = new AbortController();
  readonly ends: unknown[] = [];
  readonly events: string[] = [];
  readonly pipeline: SavePipeline;
  isHeld = true;

  constructor(clock: FakeClock, data: MemoryStoreData) {
    this.clock = clock;
    this.troubled = new TroubledStore(data);
    const unused = (): never => {
      throw new Error('the service does not use this');
    };
    const disk = new Proxy({} as Host['disk'], { get: unused });
    this.context = {
      host: { clock, log: this.log, disk, storage: createStorage(disk), random: { uuid: unused, fraction: () => 0.5 } },
      network: { listen: unused, connect: unused },
      store: this.troubled.store,
      keys: keysOf('/paddlet/test'),
      listen: 'localhost:0',
      advertise: undefined,
      registry: new Registry(),
      health: unused,
      stop: new AbortController().signal,
      troubles: createTroubles(),
      hostName: 'here',
      pid: 1,
      version: '0',
    };
    this.fence = lock(data, this.context);
    this.pipeline = createSavePipeline({
      context: this.context,
      fence: this.fence,
      stopSignal: this.stopSignal.signal,
      onFatal: (error) => this.ends.push(error),
    });
  }

  /** With the queue that is saved, or a new one. */
  async service(options: RigOptions): Promise<TaskService> {
    const before = await loadQueue(this.context.store, this.context.keys);
    const queue = createTaskQueue(configOf(options), before, this.clock.monotonicMs());
    const saved = await loadHistory(this.context, new AbortController().signal);
    return this.serviceOf(queue, this.pipeline, new TaskHistory(this.clock, saved, queue));
  }

  serviceOf(queue: TaskQueue, pipeline: SavePipeline | undefined, history?: TaskHistory): TaskService {
    return createTaskService({
      context: this.context,
      name: 'test',
      queue,
      pipeline,
      ...(history && { history }),
      isHeld: () => this.isHeld,
      onEnded: () => this.events.push('ended'),
      onFailed: ({ task }) => this.events.push(`failed by task ${task}`),
      onDiscarded: ({ task }) => this.events.push(`discarded task ${task}`),
      onPassEnded: (pass) => this.events.push(`pass ${pass} ended`),
    });
  }
}

/** Takes the lock from the master that has it. */
function lock(data: MemoryStoreData, { keys }: RoleContext): Fence {
  data.txn({ if: [], then: [{ delete: keys.masterLock }] });
  const { revision } = data.txn({ if: [], then: [{ put: keys.masterLock, value: 'a master' }] });
  return { key: keys.masterLock, token: revision };
}

export function aStore(): { clock: FakeClock; data: MemoryStoreData } {
  const clock = new FakeClock();
  return { clock, data: new MemoryStoreData({ clock }) };
}

/** What a promise has come to by now. */
export async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  let state: unknown = 'open';
  promise.then(
    (value) => {
      state = value ?? 'done';
    },
    (error: { code?: string }) => {
      state = `refused: ${error.code}`;
    },
  );
  await settled();
  return state;
}
