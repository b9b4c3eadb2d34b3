/**
 * `npx node scripts/bench/recovery.ts [--load-gb 1] [--save-gb 2]`: one real pserver that holds so much.
 *
 * - How long pushes wait while it saves: latencies of pushes sent one after the other, before and during a save.
 * - From the claim of its index to the first answered pull after a SIGKILL, beside its parts measured alone on the same
 *   file: reading, MD5, building the tables.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type JobInStore, openLiveCluster } from '../../src/commands/base/live-cluster.ts';
import { createHost } from '../../src/host/host.ts';
import { modelOf, readJobRecord } from '../../src/roles/job-record.ts';
import { createParameterClient, type IdList, type ParameterClient } from '../../src/roles/parameter-client.ts';
import type { PserverGroup } from '../../src/roles/pserver-group.ts';
import { defaultChroot, keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import { elementCount } from '../../src/tensor/blocks.ts';
import { createIdRouter } from '../../src/tensor/id-router.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import { type Figure, percentile, printFigures } from './figure.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    'load-gb': { type: 'string', default: '1' },
    'save-gb': { type: 'string', default: '2' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
  },
});
const FACTORS = 30;
const SHARDS = 512;
const BYTES_PER_ID = 4 * 2 * (1 + FACTORS) + 16;
const IDS_PER_PUSH = 40_000;
const TIMED_IDS = 500;
const BASELINE_PUSHES = 1_500;
const SAVE_TIMEOUT_MS = 120_000;
const never = new AbortController().signal;
const host = createHost({ logLevel: 'error', logFormat: 'text', name: 'bench' });
const keys = keysOf(defaultChroot('bench-recovery'));
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const load = (): string => loadavg()[0]!.toFixed(2);

class Roles {
  readonly folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
  readonly storeUrl = `sqlite:${join(this.folder, 'store.db')}`;
  readonly #running = new Set<ChildProcess>();

  constructor() {
    process.once('exit', () => this.#killAll());
  }

  start(...args: string[]): ChildProcess {
    const log = openSync(join(this.folder, `${args[0]}.log`), 'a');
    const env = { PATH: process.env.PATH, HOME: this.folder, PADDLET_STORE: this.storeUrl };
    const child = spawn(resolve(values.paddlet), args, { cwd: this.folder, env, stdio: ['ignore', log, log] });
    closeSync(log);
    this.#running.add(child);
    child.once('exit', () => this.#running.delete(child));
    return child;
  }

  /** One pserver with all shards; the master has nobody to deal to. */
  startPserver(): ChildProcess {
    return this.start('pserver', '--index', '0', '--dir', 'roles');
  }

  #killAll(): void {
    for (const child of this.#running) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function publish(roles: Roles): Promise<JobInStore> {
  writeFileSync(join(roles.folder, 'train.libsvm'), '1 1:1\n0 2:1\n');
  const job = {
    name: 'bench-recovery',
    data: { train: 'train.libsvm', format: 'libsvm' },
    model: { type: 'fm', factors: FACTORS },
    optimizer: { type: 'adagrad', learningRate: 0.1 },
    cluster: { pservers: 1, trainers: 1, shards: SHARDS, leaseTtl: '5s' },
    checkpoint: { interval: 'off' },
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

/** Pushes without end of the first task: rows of ids that follow each other. */
class Pusher {
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

  /** Rows of new ids, or of ids that have been there for long. */
  async push(count: number, fresh: boolean): Promise<void> {
    const ids = fresh ? idsFrom(this.#firstId, count) : idsFrom((BigInt(this.#push) * 7919n) % this.#firstId, count);
    if (fresh) this.#firstId += BigInt(count);
    const gradients = {
      ids,
      dense: this.#spec.dense.map((dense) => new Float32Array(elementCount(dense))),
      sparse: this.#spec.sparse.map(({ width }) => new Float32Array(count * width).fill(0.001)),
    };
    await this.#client.push({ pass: 0, task: 0, push: this.#push, last: false, good: 0 }, gradients, never);
    this.#push += 1;
  }

  async growTo(bytes: number): Promise<void> {
    while (Number(this.#firstId) * BYTES_PER_ID < bytes) await this.push(IDS_PER_PUSH, true);
  }
}

function idsFrom(first: bigint, count: number): IdList {
  const ids = BigUint64Array.from({ length: count }, (_, i) => first + BigInt(i));
  return { ids: new Uint8Array(ids.buffer), count };
}

async function timedPushes(pusher: Pusher, goOn: (count: number) => boolean): Promise<number[]> {
  const latencies: number[] = [];
  while (goOn(latencies.length)) {
    const beganMs = performance.now();
    await pusher.push(TIMED_IDS, false);
    latencies.push(performance.now() - beganMs);
  }
  return latencies;
}

async function save(group: PserverGroup): Promise<{ uuid: string; bytes: number }> {
  return group.withPlacement(
    'save',
    async (placement) => {
      const reply = await group.ask(placement.pservers[0]!, 'checkpoint', { final: false }, [], SAVE_TIMEOUT_MS);
      reply.free();
      return reply.header.saved!;
    },
    never,
  );
}

const BOUNDS = [1, 2, 5, 10, 20, 50, 100, Number.POSITIVE_INFINITY];

function histogram(latencies: readonly number[]): string {
  let below = 0;
  return BOUNDS.map((bound) => {
    const upTo = latencies.filter((ms) => ms <= bound).length;
    const text = `${bound === Number.POSITIVE_INFINITY ? 'more' : `≤${bound}`}: ${upTo - below}`;
    below = upTo;
    return text;
  }).join('  ');
}

async function measureSave(pusher: Pusher, group: PserverGroup): Promise<{ figures: Figure[]; uuid: string }> {
  const before = await timedPushes(pusher, (count) => count < BASELINE_PUSHES);
  const beganMs = performance.now();
  let saved: { uuid: string; bytes: number } | undefined;
  let tookMs = 0;
  const saving = save(group).then((file) => {
    saved = file;
    tookMs = performance.now() - beganMs;
  });
  const during = await timedPushes(pusher, () => saved === undefined);
  await saving;
  say(`pushes by milliseconds, before the save: ${histogram(before)}`);
  say(`                       during the save:  ${histogram(during)}`);
  const ms = (what: string, value: number): Figure => ({ what, value, unit: 'ms' });
  const max = (latencies: readonly number[]): number => percentile(latencies, 1);
  return {
    uuid: saved!.uuid,
    figures: [
      { what: 'saved', value: saved!.bytes / 1e9, unit: `GB in ${(tookMs / 1000).toFixed(1)} s` },
      ms('push, median before', percentile(before, 0.5)),
      ms('push, median during', percentile(during, 0.5)),
      ms('push, 99 % during', percentile(during, 0.99)),
      ms('push, longest before', max(before)),
      { ...ms('push, longest during', max(during)), aim: { of: 'value', bound: 20, best: 'low' } },
    ],
  };
}

async function measureLoad(
  cluster: { pusher: Pusher; client: ParameterClient; group: PserverGroup; job: JobInStore },
  roles: Roles,
  pserver: ChildProcess,
): Promise<Figure[]> {
  const { client, group, job } = cluster;
  const { uuid, bytes } = await save(group);
  const token = (await job.store.get(keys.ps(0)))!.createRevision;
  pserver.kill('SIGKILL');
  await once(pserver, 'exit');
  const next = roles.startPserver();
  for (;;) {
    const claim = await job.store.get(keys.ps(0));
    if (claim !== undefined && claim.createRevision !== token) break;
    await new Promise((done) => setTimeout(done, 5));
  }
  const claimedMs = performance.now();
  const processorBefore = processorTime(next.pid!);
  await client.pull(idsFrom(0n, 1000), never);
  const seconds = (performance.now() - claimedMs) / 1000;
  const processorSeconds = processorTime(next.pid!) - processorBefore;
  const parts = readParts(join(roles.folder, 'roles/checkpoints/0', uuid));
  return [
    {
      what: `claim to first pull, ${(bytes / 1e9).toFixed(2)} GB`,
      value: seconds,
      unit: 's',
      aim: { of: 'value', bound: 3, best: 'low' },
    },
    { what: '  processor time of it', value: processorSeconds, unit: 's' },
    { what: '  reading alone', value: parts.readSeconds, unit: 's' },
    { what: '  MD5 alone', value: parts.md5Seconds, unit: 's' },
    {
      what: '  the rest: building, taking shards',
      value: seconds - 2 * parts.readSeconds - parts.md5Seconds,
      unit: 's',
    },
  ];
}

/** Seconds in user and system mode so far (proc(5): fields 14 and 15, in ticks of 10 ms). */
function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function readParts(path: string): { readSeconds: number; md5Seconds: number } {
  const file = openSync(path, 'r');
  const chunk = Buffer.alloc(4 * 1024 * 1024);
  const hash = createHash('md5');
  let readSeconds = 0;
  let md5Seconds = 0;
  for (;;) {
    const atMs = performance.now();
    const count = readSync(file, chunk);
    const readMs = performance.now();
    if (count === 0) break;
    hash.update(chunk.subarray(0, count));
    readSeconds += (readMs - atMs) / 1000;
    md5Seconds += (performance.now() - readMs) / 1000;
  }
  closeSync(file);
  return { readSeconds, md5Seconds };
}

say(`load before: ${load()}`);
const roles = new Roles();
const job = await publish(roles);
const spec = modelOf(job.record).parameters;
const { group } = openLiveCluster(job);
const client = createParameterClient({ spec, shards: SHARDS, group, router: createIdRouter({ shards: SHARDS }) });
const pserver = roles.startPserver();
const pusher = new Pusher(client, spec);
await pusher.growTo(Number(values['load-gb']) * 1e9);
const loading = await measureLoad({ pusher, client, group, job }, roles, pserver);
printFigures(loading);
await pusher.synchronize();
await pusher.growTo(Number(values['save-gb']) * 1e9);
const { figures } = await measureSave(pusher, group);
printFigures(figures);
say(`load after: ${load()}`);
process.exit(0);
