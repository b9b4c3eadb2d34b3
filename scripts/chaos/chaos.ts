/**
 * `npx node scripts/chaos/chaos.ts --store etcd|sqlite --faults 50 --seed N --job lr|fm|softmax|synth [--roles a,b,c]`:
 * trains a job with real processes of dist/paddlet while, drawn from the seed, roles and the store are killed, stopped
 * and started again, disks are full for a while and the folder of the checkpoints is gone for a while; then checks the
 * account. Exits with 0 when all holds; else says what does not, prints the seed and keeps the folder with the logs.
 * The targets of --roles are in faults.ts. Disks are small ones of their own, which takes the right to mount.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { createClock } from '../../src/host/clock.ts';
import { defaultChroot, keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { KeyValue, Store } from '../../src/store/store.ts';
import { EtcdServer } from '../../test/etcd-server.ts';
import { SmallDisk } from '../../test/store/small-disk.ts';
import { checkAccount } from './account.ts';
import { Cluster, type RoleSpec } from './cluster.ts';
import { drawFault, type Stage, strike, TARGETS, type Target } from './faults.ts';
import { type ChaosJob, JOB_NAMES, type JobName, makeJob } from './jobs.ts';
import { type DiskName, Places } from './places.ts';
import { isEachSaved, tasksDone, watchDuplicates } from './progress.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const STUCK_MS = 90_000;

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'etcd' },
    faults: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1000)) },
    job: { type: 'string', default: 'synth' },
    roles: { type: 'string' },
    passes: { type: 'string' },
    trainers: { type: 'string', default: '3' },
    pservers: { type: 'string', default: '2' },
    lease: { type: 'string', default: '2000' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
    data: { type: 'string', default: resolve(ROOT, '../shared/data') },
    quiet: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const wanted = Number(values.faults);
const leaseMs = Number(values.lease);
if (values.store !== 'etcd' && values.store !== 'sqlite') throw new Error(`--store ${values.store}: etcd or sqlite`);
if (!JOB_NAMES.includes(values.job as JobName)) throw new Error(`--job ${values.job}: one of ${JOB_NAMES.join(', ')}`);
const ofStore: readonly Target[] = values.store === 'etcd' ? ['etcd'] : ['sqlite', 'store-disk'];
const possible = TARGETS.filter(
  (target) => !['etcd', 'sqlite', 'store-disk'].includes(target) || ofStore.includes(target),
);
const named = values.roles?.split(',') ?? possible;
for (const name of named) {
  if (!possible.includes(name as Target)) throw new Error(`--roles ${name}: with this store, ${possible.join(', ')}`);
}
const isDisk = (target: Target): target is DiskName => target === 'disk' || target === 'store-disk';
/** Disks that cannot be had are left out. */
const whyNoDisks = possible.some((target) => named.includes(target) && isDisk(target)) ? SmallDisk.whyNot() : undefined;
const targets = possible.filter((target) => named.includes(target) && !(isDisk(target) && whyNoDisks !== undefined));
if (targets.length === 0) throw new Error(`no targets: ${whyNoDisks}`);

const folder = mkdtempSync(join(tmpdir(), 'paddlet-chaos-'));
const logs = join(folder, 'logs');
mkdirSync(logs);
const startedMs = performance.now();
const transcript: string[] = [];
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const say = (line: string): void => {
  const stamped = `${new Date().toISOString().slice(11, 23)} ${line}`;
  transcript.push(stamped);
  if (!values.quiet) print(stamped);
};

/** Faults by target and kind. */
const hit = new Map<string, number>();
/** Dropped pushes by address of the pserver, as far as they were seen. */
const dropped = new Map<string, number>();
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Scene extends Stage {
  readonly job: ChaosJob;
  readonly store: Store;
}

function specsOf(job: ChaosJob, jobFile: string, roles: string): RoleSpec[] {
  const data = ['--data-dir', job.dataDir];
  const many = (role: 'pserver' | 'trainer', count: number, args: (i: number) => string[]): RoleSpec[] =>
    Array.from({ length: count }, (_, i) => ({ name: `${role} ${i}`, role, args: [role, ...args(i)] }));
  return [
    // The second one stands by.
    ...[0, 1].map((i) => ({
      name: `master ${i}`,
      role: 'master' as const,
      args: ['master', jobFile, ...data, '--json'],
    })),
    ...many('pserver', Number(values.pservers), (i) => ['--index', String(i), '--dir', roles]),
    ...many('trainer', Number(values.trainers), () => data),
  ];
}

/** Strikes until the wanted number of faults has hit in mid-run, then lets the job end. */
async function rage(scene: Scene): Promise<string[]> {
  const { cluster, job, store } = scene;
  const keys = keysOf(defaultChroot(job.job.name));
  const total = job.job.training.passes * Math.ceil(job.records / job.job.data.recordsPerTask);
  const random = createRandomStream(seed);
  let ended = false;
  const allDone = cluster.allDone.then(() => {
    ended = true;
  });
  const watching = (async () => {
    while (!ended) {
      await watchDuplicates(store, keys, dropped);
      await Promise.race([allDone, pause(500)]);
    }
  })();
  let done = 0;
  let movedMs = performance.now();
  let faults = 0;
  let dueMs = Number.POSITIVE_INFINITY;
  let next = drawFault(random, targets);
  while (!ended) {
    const now = await tasksDone(store, keys);
    if (now !== undefined && now !== done) movedMs = performance.now();
    done = now ?? done;
    const isStuck = performance.now() - movedMs > STUCK_MS;
    if (isStuck) return [`no task was done for ${STUCK_MS / 1000} s (${done} of ${total}, ${faults} faults)`];
    if (done > 0 && dueMs === Number.POSITIVE_INFINITY) dueMs = performance.now() + next.afterMs;
    // Ahead of the job: a fast machine gets its faults in quicker succession.
    const isDue = performance.now() >= dueMs || (done > 0 && done / total > (faults + 1) / (wanted + 2));
    if (faults < wanted && isDue && done < total) {
      if (await strike(scene, next)) {
        const kind = `${next.target} ${next.kind}`;
        hit.set(kind, (hit.get(kind) ?? 0) + 1);
        faults += 1;
      }
      next = drawFault(random, targets);
      dueMs = performance.now() + next.afterMs;
    }
    await Promise.race([allDone, pause(Math.max(20, Math.min(100, dueMs - performance.now())))]);
  }
  await watching;
  return faults < wanted ? [`the job ended after ${faults} of ${wanted} faults: give it more --passes`] : [];
}

async function run(places: Places): Promise<boolean> {
  if (whyNoDisks !== undefined) print(`disks are left out: ${whyNoDisks}`);
  const job = await makeJob(values.job as JobName, {
    passes: values.passes === undefined ? undefined : Number(values.passes),
    leaseMs,
    pservers: Number(values.pservers),
    trainers: Number(values.trainers),
    paddlet: resolve(values.paddlet),
    folder,
    realData: values.data,
  });
  const jobFile = join(folder, 'job.yaml');
  writeFileSync(jobFile, JSON.stringify(job.job, undefined, 2));
  const etcd = values.store === 'etcd' ? await EtcdServer.start() : undefined;
  const storeUrl = etcd?.url ?? `sqlite:${places.sqlitePath}`;
  const calm = createRandomStream(seed + 1);
  const cluster = new Cluster({
    paddlet: resolve(values.paddlet),
    folder,
    logs,
    storeUrl,
    specs: specsOf(job, jobFile, places.roles),
    restartAfterMs: () => 50 + 500 * calm.uniform(),
    say,
  });
  const store = await openStore(storeUrl, { clock: createClock(), log: SILENT });
  const keys = keysOf(defaultChroot(job.job.name));
  const scene: Scene = {
    cluster,
    etcd,
    places,
    isEachSaved: () => isEachSaved(store, keys, Number(values.pservers)),
    leaseMs,
    say,
    healing: new Set(),
    job,
    store,
  };
  try {
    cluster.start();
    const faults = await rage(scene);
    await Promise.all(scene.healing);
    const result = await store.get(keys.result);
    const recovery = await store.get(keys.recovery);
    cluster.killAll();
    const account = await checkAccount(job, { result, checkpoints: places.checkpoints, logs });
    const all = [...cluster.violations, ...faults, ...account.faults];
    report(cluster, job, recovery, account.result);
    for (const fault of all) print(`VIOLATED: ${fault}`);
    return all.length === 0;
  } finally {
    cluster.killAll();
    await store.close();
    await etcd?.stop();
  }
}

function report(
  cluster: Cluster,
  job: ChaosJob,
  recovery: KeyValue | undefined,
  result: Awaited<ReturnType<typeof checkAccount>>['result'],
): void {
  const table = (rows: Iterable<readonly [string, unknown]>): void => {
    for (const [what, value] of rows) print(`  ${what.padEnd(34)} ${String(value)}`);
  };
  print(`\nfaults (${[...hit.values()].reduce((sum, count) => sum + count, 0)})`);
  table([...hit].sort());
  print('ends');
  table([...cluster.ends].sort());
  print('account');
  const repaired = masterLogs().flatMap((log) =>
    [...log.matchAll(/recovery \d+: replaying (\d+) tasks/g)].map(([, count]) => Number(count)),
  );
  table([
    ['passes × records', `${job.job.training.passes} × ${job.records} = ${job.job.training.passes * job.records}`],
    ['applied', result?.records.applied],
    ['lost', result?.records.lost],
    ['read', result?.records.read],
    ['duplicate', result?.records.duplicate],
    ['pushes dropped as duplicates, seen', [...dropped.values()].reduce((sum, count) => sum + count, 0)],
    ['recoveries', recovery?.value ?? 0],
    ['tasks repaired (in rounds)', `${repaired.reduce((sum, count) => sum + count, 0)} (${repaired.length})`],
    ['test', JSON.stringify(result?.metrics.test)],
    ['seconds', ((performance.now() - startedMs) / 1000).toFixed(1)],
    ['machine load (1 min)', loadavg()[0]?.toFixed(1)],
  ]);
}

const masterLogs = (): string[] =>
  readdirSync(logs)
    .filter((name) => /^master.*\.log$/.test(name))
    .map((name) => readFileSync(join(logs, name), 'utf8'));

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));

const places = new Places(folder, targets.filter(isDisk));
let holds = false;
try {
  holds = await run(places);
} finally {
  if (holds) rmSync(folder, { recursive: true });
  else {
    places.keep(folder);
    writeFileSync(join(logs, 'chaos.log'), `${transcript.join('\n')}\n`);
    print(`seed ${seed}; logs are kept in ${logs}`);
  }
}
if (whyNoDisks !== undefined) print(`disks were left out: ${whyNoDisks}`);
print(holds ? 'all holds' : 'VIOLATED');
process.exit(holds ? 0 : 1);
