/**
 * `npx node scripts/bench/tasks.ts [--store etcd|sqlite] [--tasks 100000] [--seconds 30]`: a real master with a pass of
 * so many tasks, dealt to trainers that do nothing but ask and finish. Measures transitions a second over the wire and
 * through the store, what the store then holds, the master's memory, and after a SIGKILL the time from the lock to the
 * first task that the next master deals.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isPaddletError } from '../../src/base/errors.ts';
import { readJobRecord } from '../../src/cluster/job/job-record.ts';
import { StoredJoinToken } from '../../src/cluster/job/join-token.ts';
import { createClock } from '../../src/host/clock.ts';
import { createRandom } from '../../src/host/random.ts';
import { noMetrics } from '../../src/model/metrics.ts';
import type { DealtTask } from '../../src/protocol/messages/all-messages.ts';
import type { Channel, Network } from '../../src/protocol/messages/channel.ts';
import { createWebSocketNetwork } from '../../src/protocol/websocket/network.ts';
import { defaultChroot, keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { EtcdServer } from '../../test/etcd-server.ts';
import { printFigures } from './figure.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const LONG = { timeoutMs: 60_000 };
const MIB = 1024 * 1024;

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'etcd,sqlite' },
    tasks: { type: 'string', default: '100000' },
    trainers: { type: 'string', default: '32' },
    seconds: { type: 'string', default: '25' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
  },
});
const tasks = Number(values.tasks);
const clock = createClock();
const keys = keysOf(defaultChroot('bench-tasks'));
const networkOf = (store: Store): Network =>
  createWebSocketNetwork({
    clock,
    random: createRandom(),
    log: SILENT,
    joinToken: new StoredJoinToken({ store, keys, clock, log: SILENT }),
  });
const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface Bench {
  readonly folder: string;
  readonly storeUrl: string;
  readonly store: Store;
  readonly jobFile: string;
}

function startMaster({ folder, storeUrl, jobFile }: Bench): ChildProcess {
  const log = openSync(join(folder, 'master.log'), 'a');
  const env = { PATH: process.env.PATH, HOME: folder, PADDLET_STORE: storeUrl };
  const child = spawn(resolve(values.paddlet), ['master', jobFile], { cwd: folder, env, stdio: ['ignore', log, log] });
  closeSync(log);
  process.once('exit', () => child.kill('SIGKILL'));
  child.once('exit', (code) => {
    if (code === null) return;
    say(`the master ended with ${code}:\n${readFileSync(join(folder, 'master.log'), 'utf8')}`);
    process.exit(1);
  });
  return child;
}

/** Waits until the key is there with another creation than `unlike`. */
async function created(store: Store, key: string, unlike = 0n): Promise<{ value: string; createRevision: bigint }> {
  for (;;) {
    const entry = await store.get(key);
    if (entry !== undefined && entry.createRevision !== unlike) return entry;
    await new Promise((done) => setTimeout(done, 5));
  }
}

interface Work {
  readonly job: string;
  readonly batchPlanId: string;
  readonly address: string;
  readonly network: Network;
}

const deal = (channel: Channel, { job, batchPlanId }: Work, trainer: string) =>
  channel.request(
    { header: { type: 'getTasks', job, batchPlanId, trainer, held: [], most: 1, maxWaitMs: 20_000 } },
    LONG,
  );

/** A master that has its address in the store may not answer for a moment. */
async function dealWhenReady(channel: Channel, work: Work, trainer: string): Promise<DealtTask> {
  for (;;) {
    try {
      const reply = await deal(channel, work, trainer);
      reply.free();
      const [task] = reply.header.tasks ?? [];
      if (task !== undefined) return task;
    } catch (error) {
      if (!isPaddletError(error, 'NotReady')) throw error;
      await new Promise((done) => setTimeout(done, 2));
    }
  }
}

async function finish(channel: Channel, { job, batchPlanId }: Work, trainer: string, dealt: DealtTask): Promise<void> {
  const { queue, pass, task, attempt } = dealt;
  const counts = { recovery: 0, records: 1, good: 1, bad: 0, read: 1, duplicate: 0, metrics: noMetrics };
  const ends = [{ queue, pass, task, attempt, ...counts }];
  const header = { type: 'finishTasks' as const, job, batchPlanId, trainer, ends };
  (await channel.request({ header }, LONG)).free();
}

/** Tasks done in that time by trainers that ask and finish. */
async function rush(work: Work, trainers: readonly string[], seconds: number): Promise<number> {
  const untilMs = performance.now() + seconds * 1000;
  let done = 0;
  const one = async (trainer: string): Promise<void> => {
    const channel = work.network.connect(work.address);
    while (performance.now() < untilMs) {
      const reply = await deal(channel, work, trainer);
      reply.free();
      const [task] = reply.header.tasks ?? [];
      if (task === undefined || task.pass > 0) break;
      await finish(channel, work, trainer, task);
      done += 1;
    }
    channel.close();
  };
  await Promise.all(trainers.map(one));
  return done;
}

async function measure(bench: Bench, kind: string): Promise<void> {
  const { store } = bench;
  const { leaseId } = await store.leaseGrant(600_000);
  const trainers = Array.from({ length: Number(values.trainers) }, () => crypto.randomUUID());
  for (const id of trainers) {
    await store.txn({ if: [], then: [{ put: keys.trainer(id), value: '127.0.0.1:1', leaseId }] });
  }
  const first = startMaster(bench);
  const address = await created(store, keys.masterAddr);
  const record = await readJobRecord(store, keys);
  if (record === undefined) throw new Error('the master has published no job');
  const network = networkOf(store);
  const work: Work = { job: record.id, batchPlanId: record.batchPlanId, address: address.value, network };
  const opening = network.connect(work.address);
  await finish(opening, work, trainers[0]!, await dealWhenReady(opening, work, trainers[0]!));
  opening.close();
  const beganMs = performance.now();
  const done = await rush(work, trainers, Number(values.seconds));
  const perSecond = (2 * done * 1000) / (performance.now() - beganMs);
  const memory = memoryOf(first.pid!);
  const kept = await bytesUnder(store);
  const file = bench.storeUrl.startsWith('sqlite:') ? statSync(bench.storeUrl.slice('sqlite:'.length)).size : undefined;

  const lock = await created(store, keys.masterLock);
  first.kill('SIGKILL');
  await once(first, 'exit');
  const second = startMaster(bench);
  await created(store, keys.masterLock, lock.createRevision);
  const lockedMs = performance.now();
  const next = await created(store, keys.masterAddr, address.createRevision);
  const addressMs = performance.now();
  const channel = network.connect(next.value);
  await dealWhenReady(channel, { ...work, address: next.value }, trainers[0]!);
  const dealtMs = performance.now();
  channel.close();
  const rate = { value: perSecond, unit: 'transitions/s' };
  printFigures([
    { what: `${kind}: deal and finish, ${done} tasks of ${tasks}, ${trainers.length} trainers`, ...rate },
    { what: `${kind}: keys and values of the job`, value: kept.bytes / 1024, unit: `KiB in ${kept.count} keys` },
    ...(file === undefined ? [] : [{ what: `${kind}: file`, value: file / MIB, unit: 'MiB' }]),
    {
      what: `${kind}: master's memory, and at its highest`,
      value: memory.now,
      unit: `MiB (${Math.round(memory.high)})`,
    },
    { what: `${kind}: restart, lock to address`, value: (addressMs - lockedMs) / 1000, unit: 's' },
    {
      what: `${kind}: restart, lock to first task dealt`,
      value: (dealtMs - lockedMs) / 1000,
      unit: 's',
      aim: { of: 'value', bound: 2, best: 'low' },
    },
  ]);
  second.kill('SIGKILL');
  await once(second, 'exit');
}

/** Resident, in MiB. */
function memoryOf(pid: number): { now: number; high: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  return { now: kib('VmRSS') / 1024, high: kib('VmHWM') / 1024 };
}

async function bytesUnder(store: Store): Promise<{ bytes: number; count: number }> {
  const { entries } = await store.range({ prefix: `${keys.chroot}/` });
  return { bytes: entries.reduce((sum, { key, value }) => sum + key.length + value.length, 0), count: entries.length };
}

async function run(kind: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
  const etcd = kind === 'etcd' ? await EtcdServer.start() : undefined;
  const storeUrl = etcd?.url ?? `sqlite:${join(folder, 'store.db')}`;
  const store = await openStore(storeUrl, { clock, log: SILENT });
  const jobFile = join(folder, 'job.yaml');
  writeFileSync(join(folder, 'train.libsvm'), '1 1:1\n0 2:1\n'.repeat(tasks / 2));
  const job = {
    name: 'bench-tasks',
    data: { train: 'train.libsvm', format: 'libsvm', recordsPerTask: 1 },
    model: { type: 'lr' },
    optimizer: { type: 'sgd', learningRate: 0.1 },
    training: { passes: 2, batchSize: 1 },
    cluster: { pservers: 1, trainers: 1, leaseTtl: '5s' },
  };
  writeFileSync(jobFile, JSON.stringify(job));
  try {
    await measure({ folder, storeUrl, store, jobFile }, kind);
  } finally {
    await store.close();
    await etcd?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

say(`load before: ${loadavg()[0]?.toFixed(2)}`);
for (const kind of values.store.split(',')) await run(kind);
say(`load after: ${loadavg()[0]?.toFixed(2)}`);
process.exit(0);
