/**
 * One real pserver of a job with a large table, and a client that pushes to it: what the benchmarks of saving and
 * recovery share.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createParameterClient, type ParameterClient } from '../../src/cluster/client/parameter-client.ts';
import type { PserverGroup } from '../../src/cluster/client/pserver-group.ts';
import { modelOf } from '../../src/cluster/job/job-model.ts';
import { readJobRecord } from '../../src/cluster/job/job-record.ts';
import { openLiveCluster } from '../../src/commands/base/live-cluster.ts';
import type { JobInStore } from '../../src/commands/base/with-job.ts';
import { createHost, ownIdentity } from '../../src/host/host.ts';
import type { SaveMode } from '../../src/protocol/messages/to-pserver.ts';
import { defaultChroot, keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import { elementCount } from '../../src/tensor/blocks.ts';
import type { IdList } from '../../src/tensor/id-router.ts';
import { createIdRouter } from '../../src/tensor/id-router.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';

const FACTORS = 30;
const SHARDS = 512;
export const BYTES_PER_ID = 4 * 2 * (1 + FACTORS) + 16;
const IDS_PER_PUSH = 40_000;
/**
 * Pushes of the only task, one for each record: more than any benchmark sends. A pserver refuses pushes that are not
 * planned.
 */
const PUSHES = 1_000_000;
const SAVE_TIMEOUT_MS = 120_000;
export const never = new AbortController().signal;
const host = createHost({ logLevel: 'error', logFormat: 'text', identity: ownIdentity('bench') });
export const keys = keysOf(defaultChroot('bench-one'));
export const say = (text: string): void => void process.stdout.write(`${text}\n`);
export const load = (): string => loadavg()[0]!.toFixed(2);

export class Roles {
  readonly #executable: string;
  readonly folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
  readonly storeUrl = `sqlite:${join(this.folder, 'store.db')}`;
  readonly #running = new Set<ChildProcess>();

  constructor(executable: string) {
    this.#executable = resolve(executable);
    process.once('exit', () => this.end());
  }

  start(...args: string[]): ChildProcess {
    const log = openSync(join(this.folder, `${args[0]}.log`), 'a');
    const env = { PATH: process.env.PATH, HOME: this.folder, PADDLET_STORE: this.storeUrl };
    const child = spawn(this.#executable, args, { cwd: this.folder, env, stdio: ['ignore', log, log] });
    closeSync(log);
    this.#running.add(child);
    child.once('exit', () => this.#running.delete(child));
    return child;
  }

  /** One pserver with all shards; the master has no trainer to hand tasks to. */
  startPserver(): ChildProcess {
    return this.start('pserver', '--index', '0', '--dir', 'roles');
  }

  end(): void {
    for (const child of this.#running) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function publish(roles: Roles, checkpoint: object): Promise<JobInStore> {
  writeFileSync(join(roles.folder, 'train.libsvm'), '1 1:1\n0 1:1\n'.repeat(PUSHES / 2));
  const job = {
    name: 'bench-one',
    data: { train: 'train.libsvm', format: 'libsvm', recordsPerTask: PUSHES },
    model: { type: 'fm', factors: FACTORS },
    optimizer: { type: 'adagrad', learningRate: 0.1 },
    training: { batchSize: 1 },
    cluster: { pservers: 1, trainers: 1, shards: SHARDS, leaseTtl: '5s' },
    checkpoint: { interval: 'off', ...checkpoint },
  };
  const file = join(roles.folder, 'job.yaml');
  writeFileSync(file, JSON.stringify(job));
  roles.start('master', file);
  const store = await openStore(roles.storeUrl, host);
  for (;;) {
    const entry = await store.get(keys.job);
    const record = entry && (await readJobRecord(store, keys));
    if (record !== undefined) return { host, store, keys, record };
    await new Promise((done) => setTimeout(done, 20));
  }
}

export interface Pushed {
  readonly pushes: number;
  readonly seconds: number;
  readonly longestMs: number;
}

/** Pushes a second. */
export const rate = (all: readonly Pushed[]): number =>
  all.reduce((sum, { pushes }) => sum + pushes, 0) / all.reduce((sum, { seconds }) => sum + seconds, 0);

/** Pushes without end of the first task: rows of ids that follow each other. */
export class Pusher {
  #push = 0;
  #firstId = 0n;
  readonly #client: ParameterClient;
  readonly #spec: ParameterSpec;

  constructor(client: ParameterClient, spec: ParameterSpec) {
    this.#client = client;
    this.#spec = spec;
  }

  /** After a restore the ledger wants a push that was made before. */
  async synchronize(): Promise<void> {
    this.#push = Math.max(0, (await this.#client.position(0, 0, never)).next);
  }

  /** Rows of new ids, or of ids that have been there for long; `hot`: of this share of them. */
  async push(count: number, fresh: boolean, hot = 1): Promise<void> {
    const known = BigInt(Math.ceil(Number(this.#firstId) * hot));
    const ids = fresh ? idsFrom(this.#firstId, count) : idsFrom((BigInt(this.#push) * 7919n) % known, count);
    if (fresh) this.#firstId += BigInt(count);
    const gradients = {
      ids: this.#spec.sparse.map(() => ids),
      dense: this.#spec.dense.map((dense) => new Float32Array(elementCount(dense))),
      sparse: this.#spec.sparse.map(({ width }) => new Float32Array(count * width).fill(0.001)),
    };
    const header = { pass: 0, task: 0, push: this.#push, last: false, good: this.#push + 1 };
    await this.#client.push(header, gradients, never);
    this.#push += 1;
  }

  /** Pushes to known ids, one push after the other. */
  async pushFor(ms: number, count: number, hot = 1): Promise<Pushed> {
    const beganMs = performance.now();
    let [pushes, longestMs, nowMs] = [0, 0, beganMs];
    for (; nowMs - beganMs < ms; pushes++) {
      const before = nowMs;
      await this.push(count, false, hot);
      nowMs = performance.now();
      longestMs = Math.max(longestMs, nowMs - before);
    }
    return { pushes, seconds: (nowMs - beganMs) / 1000, longestMs };
  }

  async growTo(bytes: number): Promise<void> {
    while (Number(this.#firstId) * BYTES_PER_ID < bytes) await this.push(IDS_PER_PUSH, true);
  }
}

export function idsFrom(first: bigint, count: number): IdList {
  const ids = BigUint64Array.from({ length: count }, (_, i) => first + BigInt(i));
  return { ids: new Uint8Array(ids.buffer), count };
}

export async function save(group: PserverGroup, mode?: SaveMode): Promise<{ uuid: string; bytes: number }> {
  return group.withPlacement(
    'save',
    async (placement) => {
      const asked = { final: false, ...(mode && { mode }) };
      const reply = await group.ask(placement.pservers[0]!, 'checkpoint', asked, [], SAVE_TIMEOUT_MS);
      reply.free();
      return reply.header.saved!;
    },
    never,
  );
}

/** Seconds in user and system mode so far (proc(5): fields 14 and 15, in ticks of 10 ms). */
export function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

export interface OnePserver {
  readonly roles: Roles;
  readonly job: JobInStore;
  readonly group: PserverGroup;
  readonly client: ParameterClient;
  readonly pserver: ChildProcess;
  readonly pusher: Pusher;
}

/** `checkpoint`: as in a job file. By default, files are saved on request only. */
export async function startOne(executable: string, checkpoint: object = {}): Promise<OnePserver> {
  const roles = new Roles(executable);
  const job = await publish(roles, checkpoint);
  const spec = modelOf(job.record).parameters;
  const { group } = openLiveCluster(job, (error) => {
    throw error;
  });
  const client = createParameterClient({ spec, shards: SHARDS, group, router: createIdRouter({ shards: SHARDS }) });
  return { roles, job, group, client, pserver: roles.startPserver(), pusher: new Pusher(client, spec) };
}
