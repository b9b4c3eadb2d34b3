/**
 * `npx node scripts/chaos/chaos.ts --store etcd|sqlite --mode async|sync --faults 50 --seed N
 * --job lr|fm|softmax|mlp|synth [--roles a,b,c] [--moves 100]`: trains a job with real processes of dist/paddlet while,
 * drawn from the seed, roles and the store are killed, stopped and started again, disks are full for a while and the
 * folder of the checkpoints is gone for a while; then checks the account, in sync mode against a plain loop. With
 * --moves the number of pservers changes as well, and roles are struck within moves of units, until so many units have
 * moved. Exits with 0 when all holds; else says what does not, prints the seed and keeps the folder with the logs. The
 * targets of --roles are in faults.ts. Disks are small ones of their own, which takes the right to mount.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { createClock } from '../../src/host/clock.ts';
import { defaultChroot, type Keys, keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { EtcdServer } from '../../test/etcd-server.ts';
import { type ReferenceResult, referenceOf } from '../../test/sync/reference-loop.ts';
import { checkAccount } from './account.ts';
import { Cluster, type RoleSpec, type Slot } from './cluster.ts';
import { drawFault, type Stage, strike } from './faults.ts';
import { InMoves } from './in-moves.ts';
import { type ChaosJob, makeJob } from './jobs.ts';
import { MoveWatch } from './moves.ts';
import { isDisk, readOptions } from './options.ts';
import { Places } from './places.ts';
import { isEachSaved, roundNow, tasksDone, watchDuplicates } from './progress.ts';
import { report } from './report.ts';
import { Resizes } from './resizing.ts';

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const STUCK_MS = 90_000;
/** So that the job lasts until enough units have moved: in each task or round of a trainer. */
const SLOWLY = { async: 'trainer.dealt:delay=100', sync: 'trainer.lanes-pushed:delay=50' };
/** Faults are so much rarer where units are to move: they do when the cluster has been the same for a while. */
const SLOWER = 5;

const options = readOptions();
const { leaseMs, mode, seed, targets, whyNoDisks } = options;

const folder = mkdtempSync(join(tmpdir(), 'paddlet-chaos-'));
const logs = join(folder, 'logs');
mkdirSync(logs);
const startedMs = performance.now();
const transcript: string[] = [];
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const say = (line: string): void => {
  const stamped = `${new Date().toISOString().slice(11, 23)} ${line}`;
  transcript.push(stamped);
  if (!options.quiet) print(stamped);
};

/** Faults by target and kind. */
const hit = new Map<string, number>();
/** Dropped pushes by address of the pserver, as far as they were seen. */
const dropped = new Map<string, number>();
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Scene extends Stage {
  readonly job: ChaosJob;
  readonly store: Store;
  readonly keys: Keys;
  /** In sync mode, what a plain loop makes of the job. */
  readonly plain: ReferenceResult | undefined;
  /** With --moves. */
  readonly moving: { readonly watch: MoveWatch; readonly resizes: Resizes; readonly inMoves: InMoves } | undefined;
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
    ...many('pserver', options.maxPservers, (i) => ['--index', String(i), '--dir', roles]),
    ...many('trainer', options.trainers, () => [...data, '--threads', String(options.threads)]),
  ];
}

/** Tasks or rounds, all in all and done so far. */
function progressOf({ job, store, keys, plain }: Scene): { total: number; now: () => Promise<number | undefined> } {
  if (plain !== undefined) {
    return { total: plain.rounds.reduce((sum, count) => sum + count, 0), now: () => roundNow(store, keys) };
  }
  const total = job.job.training.passes * Math.ceil(job.records / job.job.data.recordsPerTask);
  return { total, now: () => tasksDone(store, keys) };
}

/** Strikes until the wanted number of faults has hit in mid-run, and units have moved, then lets the job end. */
async function rage(scene: Scene): Promise<string[]> {
  const { cluster, store, keys, moving } = scene;
  const { total, now } = progressOf(scene);
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
  const inMoves = moving?.inMoves.watch(scene, pause);
  let done = 0;
  let movedMs = performance.now();
  let faults = 0;
  let dueMs = Number.POSITIVE_INFINITY;
  const draw = () => drawFault(random, targets, moving === undefined ? 1 : SLOWER);
  const isEnough = () => faults >= options.faults && (moving?.watch.moved ?? 0) >= options.moves;
  let next = draw();
  let isCalm = false;
  const wrong: string[] = [];
  while (!ended) {
    const found = await now();
    if (found !== undefined && found !== done) movedMs = performance.now();
    done = found ?? done;
    const isStuck = performance.now() - movedMs > STUCK_MS;
    if (isStuck) return [`nothing was done for ${STUCK_MS / 1000} s (${done} of ${total}, ${faults} faults)`];
    if (done > 0 && dueMs === Number.POSITIVE_INFINITY) dueMs = performance.now() + next.afterMs;
    // Ahead of the job: a fast machine gets its faults in quicker succession.
    const isAhead = moving === undefined && done > 0 && done / total > (faults + 1) / (options.faults + 2);
    if (!isEnough() && (performance.now() >= dueMs || isAhead) && done < total) {
      const isMoving = (moving?.watch.spread()?.toMove ?? 0) > 0;
      if (await strike(scene, next)) {
        const kind = `${next.target} ${next.kind}${isMoving ? ', while units were to move' : ''}`;
        hit.set(kind, (hit.get(kind) ?? 0) + 1);
        faults += 1;
      }
      next = draw();
      dueMs = performance.now() + next.afterMs;
    }
    if (isEnough() && !isCalm && done < total) {
      isCalm = true;
      wrong.push(...(await calmDown(scene)));
      movedMs = performance.now();
    }
    await Promise.race([allDone, pause(Math.max(20, Math.min(100, dueMs - performance.now())))]);
  }
  if (moving !== undefined) moving.inMoves.isOver = true;
  await Promise.all([watching, inMoves]);
  if (isEnough()) return wrong;
  const moves = moving === undefined ? '' : ` and ${moving.watch.moved} of ${options.moves} moves`;
  return [`the job ended after ${faults} of ${options.faults} faults${moves}: give it more --passes`];
}

/** Every unit finds its place, and those that are not wanted leave nothing behind. Then the job is let go. */
async function calmDown({ cluster, healing, moving }: Scene): Promise<string[]> {
  if (moving === undefined) return [];
  say('enough: the cluster is left alone');
  moving.inMoves.isOver = true;
  await Promise.all(healing);
  const wrong = await moving.resizes.settle();
  for (const slot of cluster.awake('trainer')) cluster.term(slot);
  return wrong;
}

async function run(places: Places): Promise<boolean> {
  if (whyNoDisks !== undefined) print(`disks are left out: ${whyNoDisks}`);
  const job = await makeJob(options.job, { ...options, folder, realData: options.data });
  const jobFile = join(folder, 'job.yaml');
  writeFileSync(jobFile, JSON.stringify(job.job, undefined, 2));
  const plain = mode === 'sync' ? await referenceOf(job.job, job.dataDir) : undefined;
  const etcd = options.store === 'etcd' ? await EtcdServer.start() : undefined;
  const storeUrl = etcd?.url ?? `sqlite:${places.sqlitePath}`;
  const calm = createRandomStream(seed + 1);
  const store = await openStore(storeUrl, { clock: createClock(), log: SILENT });
  const keys = keysOf(defaultChroot(job.job.name));
  const inMoves = new InMoves(createRandomStream(seed + 2), ['master', 'trainer', 'pserver', options.store]);
  const cluster = new Cluster({
    paddlet: options.paddlet,
    folder,
    logs,
    storeUrl,
    specs: specsOf(job, jobFile, places.roles),
    pservers: options.pservers,
    restartAfterMs: () => 50 + 500 * calm.uniform(),
    leavesDead: () => calm.uniform() < 0.5,
    failPoints: ({ spec }: Slot) => {
      if (options.moves === 0 || inMoves.isOver) return undefined;
      if (spec.role === 'pserver') return inMoves.failPoint(leaseMs);
      return spec.role === 'trainer' ? SLOWLY[mode] : undefined;
    },
    say,
  });
  const moving = options.moves === 0 ? undefined : watchMoves();
  function watchMoves(): NonNullable<Scene['moving']> {
    const { units } = job.job.cluster;
    const watch = new MoveWatch({ store, keys, units, onDesired: (desired) => cluster.want(desired) });
    const { paddlet, maxPservers } = options;
    const { checkpoints } = places;
    return {
      watch,
      inMoves,
      resizes: new Resizes({ paddlet, storeUrl, store, keys, maxPservers, watch, checkpoints, say }),
    };
  }
  const scene: Scene = {
    cluster,
    etcd,
    places,
    isEachSaved: () => isEachSaved(store, keys, options.pservers),
    ...(moving && { resize: (which: number) => moving.resizes.ask(which) }),
    leaseMs,
    say,
    healing: new Set(),
    ...{ job, store, keys, plain, moving },
  };
  try {
    cluster.start();
    const faults = await rage(scene);
    await Promise.all(scene.healing);
    const result = await store.get(keys.result);
    const recovery = await store.get(keys.recovery);
    cluster.killAll();
    const account = await checkAccount(job, { result, checkpoints: places.checkpoints, logs, plain });
    const all = [...cluster.violations, ...faults, ...account.faults];
    const seconds = (performance.now() - startedMs) / 1000;
    report({ ...scene, hit, dropped, recovery: recovery?.value, result: account.result, logs, seconds, print });
    for (const fault of all) print(`VIOLATED: ${fault}`);
    return all.length === 0;
  } finally {
    moving?.watch.stop();
    cluster.killAll();
    await store.close();
    await etcd?.stop();
  }
}

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
