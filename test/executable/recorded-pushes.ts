/**
 * A trainer's client whose pushes are known by name: each adds 1 to rows that no other push has, so that their values
 * tell how often it counts. What was acknowledged is recorded here, at the side of the trainer, and read back.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LogLevel } from '../../src/base/seams.ts';
import { createParameterClient, type ParameterClient } from '../../src/cluster/client/parameter-client.ts';
import { modelOf } from '../../src/cluster/job/job-model.ts';
import { type JobRecord, readJobRecord } from '../../src/cluster/job/job-record.ts';
import type { PlacementView } from '../../src/cluster/placement/placement-view.ts';
import { openLiveCluster } from '../../src/commands/base/live-cluster.ts';
import { createHost, ownIdentity } from '../../src/host/host.ts';
import { followKey } from '../../src/store/follow-key.ts';
import { defaultChroot, type Keys, keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { KeyValue, Store } from '../../src/store/store.ts';
import { createIdRouter, type IdList } from '../../src/tensor/id-router.ts';

const PUSHES_PER_TASK = 100_000;
const TASKS = 4;
const DEFAULT_ROWS = 64;
const READ_PUSHES = 500;
/** Of the pushes of one task that an earlier one is read again. */
const READ_EVERY = 8;
const TWO_RECORDS = '1 1:1\n0 1:1\n';

/** Of a job without trainers: what is pushed is what the recorder pushes. Writes its data into the folder. */
export function recordedJob(folder: string, name: string, cluster: object): object {
  writeFileSync(join(folder, 'train.libsvm'), TWO_RECORDS.repeat((TASKS * PUSHES_PER_TASK) / 2));
  return {
    name,
    data: { train: 'train.libsvm', format: 'libsvm', recordsPerTask: PUSHES_PER_TASK },
    model: { type: 'lr' },
    // A gradient of -1 adds exactly 1.
    optimizer: { type: 'sgd', learningRate: 1 },
    training: { batchSize: 1 },
    cluster: { trainers: 1, ...cluster },
    checkpoint: { interval: 'off' },
  };
}

/** A push that was acknowledged. Times of `performance.now()`. */
export interface Acknowledged {
  readonly task: number;
  readonly push: number;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly recovery: number;
}

/** What the rows of all acknowledged pushes say. */
export interface ReadBack {
  readonly pushes: number;
  /** Pushes with a row that lacks them, as `task/push: value`. */
  readonly lost: readonly string[];
  /** Pushes with a row that has them more than once. */
  readonly twice: readonly string[];
  /** What all pushes together have added to the one value that each of them changes. */
  readonly total: number;
}

export interface RecorderOptions {
  readonly storeUrl: string;
  readonly job: string;
  readonly rows?: number;
  /** Whether earlier pushes are read again while others are sent; the default. */
  readonly isReading?: boolean;
  /** The store cannot be followed any more. */
  readonly onFatal: (error: Error) => void;
}

export class Recorder {
  readonly history: Acknowledged[] = [];
  /** What was read while pushes went on and was not 1. */
  readonly wrong: string[] = [];
  /** Called with each push that is acknowledged. */
  onAcknowledged: (push: Acknowledged) => void = () => {};
  readonly store: Store;
  readonly keys: Keys;
  readonly view: PlacementView;
  readonly #client: ParameterClient;
  readonly #close: () => void;
  readonly #rows: number;
  readonly #isReading: boolean;
  readonly #stopped = new AbortController();
  #isStopping = false;
  #pushing: Promise<unknown> = Promise.resolve();

  private constructor(store: Store, keys: Keys, record: JobRecord, options: RecorderOptions) {
    const { rows = DEFAULT_ROWS, isReading = true, onFatal } = options;
    this.store = store;
    this.keys = keys;
    this.#rows = rows;
    this.#isReading = isReading;
    const { shards } = record.job.cluster;
    const { view, group, close } = openLiveCluster({ host, store, keys, record }, onFatal);
    this.view = view;
    this.#close = close;
    const spec = modelOf(record).parameters;
    this.#client = createParameterClient({ spec, shards, group, router: createIdRouter({ shards }) });
  }

  /** Once the job is published. */
  static async open(options: RecorderOptions): Promise<Recorder> {
    const keys = keysOf(defaultChroot(options.job));
    const store = await openStore(options.storeUrl, host);
    await untilKey(store, keys.job, (value) => value !== undefined);
    const record = await readJobRecord(store, keys);
    return new Recorder(store, keys, record!, options);
  }

  /**
   * Until the status of the cluster is this one, and that of so many pservers at least: all units may have their copies
   * before one that was killed is there again.
   */
  async untilStatus(wanted: 'OK' | 'UNHEALTHY', pservers = 0): Promise<void> {
    const isWanted = (value: string | undefined): boolean => {
      if (value === undefined) return false;
      const { cluster_status, nodes } = JSON.parse(value) as { cluster_status: string; nodes: number[] };
      return cluster_status === wanted && nodes.length >= pservers;
    };
    await untilKey(this.store, this.keys.clusterStatus, isWanted);
  }

  /** Pushes of so many tasks, one after the other in each, until `stop`. */
  start(tasks = TASKS): void {
    this.#pushing = Promise.all(Array.from({ length: tasks }, (_, task) => this.#pushTask(task)));
    // Who stops it gets the error.
    this.#pushing.catch(() => {});
  }

  /** When all that was begun is acknowledged. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#pushing;
  }

  /** Of all that was acknowledged. */
  async readBack(): Promise<ReadBack> {
    const lost: string[] = [];
    const twice: string[] = [];
    for (let first = 0; first < this.history.length; first += READ_PUSHES) {
      const pushes = this.history.slice(first, first + READ_PUSHES);
      const values = await this.#read(pushes);
      pushes.forEach(({ task, push }, i) => {
        const ofPush = values.subarray(i * this.#rows, (i + 1) * this.#rows);
        if (ofPush.some((value) => value < 1)) lost.push(`${task}/${push}: ${Math.min(...ofPush)}`);
        if (ofPush.some((value) => value > 1)) twice.push(`${task}/${push}: ${Math.max(...ofPush)}`);
      });
    }
    const { dense } = await this.#client.pull(this.#idsOf([]), this.#stopped.signal);
    return { pushes: this.history.length, lost, twice, total: dense[0]![0]! };
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    this.#close();
    await this.store.close();
  }

  async #pushTask(task: number): Promise<void> {
    for (let push = 0; push < PUSHES_PER_TASK && !this.#isStopping; push++) {
      const beganMs = performance.now();
      const gradients = {
        ids: this.#idsOf([{ task, push }]),
        dense: [new Float32Array([-1])],
        sparse: [new Float32Array(this.#rows).fill(-1)],
      };
      const header = { pass: 0, task, push, last: push === PUSHES_PER_TASK - 1, good: push + 1 };
      const { recovery } = await this.#client.push(header, gradients, this.#stopped.signal);
      const one = { task, push, beganMs, endedMs: performance.now(), recovery };
      this.history.push(one);
      this.onAcknowledged(one);
      if (this.#isReading && push % READ_EVERY === READ_EVERY - 1) await this.#readEarlier();
    }
  }

  /** What is acknowledged is in every later state. */
  async #readEarlier(): Promise<void> {
    const earlier = this.history[Math.floor(Math.random() * this.history.length)]!;
    const values = await this.#read([earlier]);
    const other = values.find((value) => value !== 1);
    if (other !== undefined) this.wrong.push(`push ${earlier.push} of task ${earlier.task} was read as ${other}`);
  }

  async #read(pushes: readonly Named[]): Promise<Float32Array> {
    const pulled = await this.#client.pull(this.#idsOf(pushes), this.#stopped.signal);
    const values = pulled.sparse[0]!.slice();
    this.#client.recycle(pulled);
    return values;
  }

  #idsOf(pushes: readonly Named[]): IdList[] {
    const count = pushes.length * this.#rows;
    const ids = new BigUint64Array(count);
    pushes.forEach(({ task, push }, i) => {
      const first = (task * PUSHES_PER_TASK + push) * this.#rows;
      for (let row = 0; row < this.#rows; row++) ids[i * this.#rows + row] = BigInt(first + row);
    });
    return [{ ids: new Uint8Array(ids.buffer), count }];
  }
}

type Named = Pick<Acknowledged, 'task' | 'push'>;

/** Follows the key until its value is as wanted. */
async function untilKey(store: Store, key: string, isWanted: (value: string | undefined) => boolean): Promise<void> {
  const found = Promise.withResolvers<void>();
  const onValue = (entry: KeyValue | undefined): void => {
    if (isWanted(entry?.value)) found.resolve();
  };
  const cancel = followKey(store, key, { onValue, onEnd: found.reject }, host.clock);
  await found.promise.finally(cancel);
}

const logLevel: LogLevel = process.env.PADDLET_LOG_LEVEL === 'debug' ? 'debug' : 'error';
const host = createHost({ logLevel, logFormat: 'text', identity: ownIdentity('recorder') });
