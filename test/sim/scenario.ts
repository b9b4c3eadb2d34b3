/** One simulated job without drawn faults: the test itself says what happens, and when. */
import { dirname } from 'node:path';
import type { Host, Log } from '../../src/base/seams.ts';
import { parseCut } from '../../src/checkpoint/registry/cut.ts';
import { type CheckpointEntry, generationsOf, parseEntry } from '../../src/checkpoint/registry/entry.ts';
import type { JobResult } from '../../src/cluster/job/job-result.ts';
import { parseJobEnd } from '../../src/cluster/job/job-watch.ts';
import type { Job } from '../../src/job/schema.ts';
import type { Network } from '../../src/protocol/messages/channel.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { createSimulatedDisk } from '../simulated-disk.ts';
import { Cluster, type ClusterOptions } from './cluster.ts';
import { createDice } from './dice.ts';
import { KEYS } from './job-keys.ts';
import type { Mode } from './mode.ts';
import { SimulatedProcess } from './process.ts';
import { createRoundWorkload } from './round-workload.ts';
import { type ClusterShape, SMALL } from './shape.ts';
import type { Supervisor } from './supervisor.ts';
import { Timeline, turn } from './timeline.ts';
import { WARM_FROM } from './warm-source.ts';
import { Witness } from './witness.ts';
import { createWorkload, type Workload } from './workload.ts';

export interface ScenarioOptions extends Pick<ClusterOptions, 'wrapHandler' | 'shell'> {
  readonly mode: Mode;
  readonly seed?: number;
  readonly checkpoint?: Partial<Job['checkpoint']>;
  readonly training?: Partial<Job['training']>;
  readonly cluster?: Partial<Job['cluster']>;
  readonly hooks?: Job['hooks'];
  readonly shape?: Partial<ClusterShape>;
  /** Trainers are so much slower than usual, so that the job lasts long enough for what is to happen. */
  readonly slowness?: number;
  /** Checkpoint files of another job, which this one begins from. */
  readonly warmSource?: ReadonlyMap<string, Uint8Array>;
}

const WARM_START: Job['warmStart'] = { from: WARM_FROM, vars: ['*'], optimizerState: true, missing: 'fail' };

const SLOWNESS = 25;
const LIMIT_MS = 600_000;

export class Scenario {
  readonly cluster: Cluster;
  readonly timeline = new Timeline();
  /** What the roles logged, and what the witness saw: `who what`. */
  readonly story: string[] = [];
  readonly #workload: Workload;
  readonly #operator = new SimulatedProcess(
    { name: 'operator', role: 'stranger', life: 1 },
    this.timeline,
    createDice(1, 'operator'),
  );

  constructor({ mode, seed = 1, warmSource = new Map(), ...options }: ScenarioOptions) {
    const { checkpoint, training, cluster, hooks, wrapHandler, shell } = options;
    const shape = { ...SMALL, ...options.shape };
    const dice = createDice(seed, 'workload');
    const drawn = mode === 'sync' ? createRoundWorkload(dice, shape) : createWorkload(dice, shape);
    const job = {
      ...drawn.job,
      checkpoint: { ...drawn.job.checkpoint, ...checkpoint },
      training: { ...drawn.job.training, ...training },
      cluster: { ...drawn.job.cluster, ...cluster },
      hooks: hooks ?? drawn.job.hooks,
    };
    this.#workload = {
      ...drawn,
      job: { ...job, ...(warmSource.size === 0 ? {} : { warmStart: WARM_START }) },
      files: new Map([...drawn.files, ...warmSource]),
    };
    const witness = new Witness(KEYS, (who, what) => void this.story.push(`${who} ${what}`));
    this.cluster = new Cluster({
      ...{ seed, shape, workload: this.#workload, timeline: this.timeline, witness },
      ...(wrapHandler && { wrapHandler }),
      ...(shell && { shell }),
    });
    for (const { member, ...one } of this.cluster.supervisors) {
      if (member.role === 'trainer')
        this.named(member.name).setSlowness(Math.max(options.slowness ?? SLOWNESS, one.slowness));
    }
  }

  named(name: string): Supervisor {
    return this.cluster.named(name);
  }

  /** Lets time pass until that is so; fails when it does not come to be. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    const { witness } = this.cluster;
    const end = await this.timeline.run(() => isSo() || witness.violations.length > 0, this.timeline.nowMs + LIMIT_MS);
    await turn();
    if (witness.violations.length > 0) throw new Error(witness.violations.join('\n'));
    if (end !== 'over') throw new Error(`${what}: never (${end})\n${this.story.slice(-30).join('\n')}`);
  }

  async pass(ms: number): Promise<void> {
    const atMs = this.timeline.nowMs + ms;
    let isOver = false;
    this.timeline.at(atMs, () => {
      isOver = true;
    });
    await this.until(`${ms} ms`, () => isOver);
  }

  /** The store as an operator reaches it. */
  get store(): MemoryStore {
    return new MemoryStore(this.cluster.store.data);
  }

  /** Another process, which reaches the store by `store`. */
  get network(): Network {
    return this.cluster.network.of(this.#operator);
  }

  get operator(): { readonly host: Host } {
    const { clock, random } = this.#operator;
    const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
    const disk = createSimulatedDisk();
    return { host: { clock, random, disk, storage: disk.storage, log } };
  }

  /** What an operator is doing, until it is done. */
  async done<T>(what: string, work: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    work.then(settle, settle);
    await this.until(what, () => isSettled);
    return work;
  }

  /** How often a line of the story matches. */
  told(pattern: RegExp): number {
    return this.story.filter((line) => pattern.test(line)).length;
  }

  get cut() {
    return parseCut(KEYS.cut, this.cluster.store.data.get(KEYS.cut)).cut;
  }

  entry(index: number): CheckpointEntry | undefined {
    return parseEntry(KEYS.checkpoint(index), this.cluster.store.data.get(KEYS.checkpoint(index))).entry;
  }

  /** Names of the published files of a pserver, newest first. */
  published(index: number): string[] {
    const entry = this.entry(index);
    return entry === undefined ? [] : generationsOf(entry).map(({ uuid }) => uuid);
  }

  /** The machine of a pserver has an empty disk for now. The function returned gives it its own back. */
  hideFiles(index: number): () => void {
    const { machine } = this.named(`pserver ${index}`);
    const { disk } = machine;
    machine.disk = createSimulatedDisk();
    return () => {
      machine.disk = disk;
    };
  }

  /** Removes files from a pserver's machine. The function returned puts them back. */
  async removeFiles(index: number, paths: Iterable<string>): Promise<() => void> {
    const { machine } = this.named(`pserver ${index}`);
    const removed = new Map([...paths].map((path) => [path, machine.disk.content(path)!]));
    for (const path of removed.keys()) {
      await machine.disk.remove(path);
      await machine.disk.syncFolder(dirname(path));
    }
    return () => {
      for (const [path, bytes] of removed) machine.disk.place(path, bytes);
    };
  }

  files(index: number): Promise<string[]> {
    return this.named(`pserver ${index}`).machine.disk.list(`/checkpoints/${index}`);
  }

  get recovery(): number {
    return Number(this.cluster.store.data.get(KEYS.recovery)?.value ?? 0);
  }

  /** Waits for the end of the job. Throws why it failed. */
  async result(): Promise<JobResult> {
    await this.until('the end of the job', () => this.cluster.isOver);
    const entry = this.cluster.store.data.get(KEYS.result)!;
    const end = parseJobEnd(entry.key, entry.value);
    if ('failure' in end) throw end.failure;
    return end.result;
  }

  /** Waits for the end of the job: fields of its result that differ from what is known beforehand. */
  async difference(): Promise<Record<string, unknown>> {
    const { records, modelDigest, tasks } = await this.result();
    const found: Readonly<Record<string, unknown>> = { ...records, modelDigest, discardedTasks: tasks.discarded };
    const wanted = Object.entries({ ...this.#workload.expected(), lost: 0 });
    return Object.fromEntries(
      wanted.flatMap(([field, value]) => (found[field] === value ? [] : [[field, found[field]]])),
    );
  }
}
