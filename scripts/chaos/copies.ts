/**
 * `npx node scripts/chaos/copies.ts --mode async|sync [--kills 10] [--pservers 3] [--replicas 2] [--at-once 1]
 * [--store sqlite|etcd] [--resize 4,3]`: kills random pservers of a job with copies of its units, again and again, each
 * time that the cluster says OK. With --resize the number of pservers changes so, too, and one is killed while units
 * move. Then checks the account, in sync mode against a plain loop; and, without --resize, that nothing was loaded from
 * a file. Exits with 0 when all holds; else says what does not, and keeps the folder with the logs.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { EtcdServer } from '../../test/etcd-server.ts';
import { referenceOf } from '../../test/sync/reference-loop.ts';
import { checkAccount } from './account.ts';
import { makeJob } from './jobs.ts';
import { Launched, statusIs } from './launched.ts';
import { MoveWatch } from './moves.ts';

const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'async' },
    kills: { type: 'string', default: '10' },
    pservers: { type: 'string', default: '3' },
    replicas: { type: 'string', default: '2' },
    'at-once': { type: 'string', default: '1' },
    trainers: { type: 'string', default: '2' },
    store: { type: 'string', default: 'sqlite' },
    /** Numbers of pservers, one after the other. */
    resize: { type: 'string' },
    passes: { type: 'string' },
    paddlet: { type: 'string', default: join(resolve(import.meta.dirname, '../..'), 'dist/paddlet') },
  },
});
const mode = values.mode === 'sync' ? 'sync' : 'async';
const [kills, pservers, atOnce] = [values.kills, values.pservers, values['at-once']].map(Number) as [
  number,
  number,
  number,
];
const sizes = values.resize?.split(',').map(Number) ?? [];
const maxPservers = Math.max(pservers, ...sizes);
const paddlet = resolve(values.paddlet);
/** The job lasts until all was done to it. */
const SLOWLY = { async: 'trainer.dealt:delay=100', sync: 'trainer.lanes-pushed:delay=50' };
const PASSES = { async: 60, sync: 25 };
const LEASE_MS = 15_000;
const POLL_MS = 20;
const folder = mkdtempSync(join(tmpdir(), 'paddlet-copies-'));
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const made = await makeJob('synth', {
  ...{ mode, passes: Number(values.passes ?? PASSES[mode]), leaseMs: LEASE_MS, pservers, maxPservers },
  ...{ trainers: Number(values.trainers), paddlet, folder, realData: '' },
});
const job = { ...made, job: { ...made.job, cluster: { ...made.job.cluster, replicas: Number(values.replicas) } } };
const plain = mode === 'sync' ? await referenceOf(job.job, job.dataDir) : undefined;
const etcd = values.store === 'etcd' ? await EtcdServer.start() : undefined;
const launched = await Launched.start({
  ...{ paddlet, folder: join(folder, 'run'), job, failPoints: SLOWLY[mode] },
  ...(etcd && { storeUrl: etcd.url }),
});
const { rawStore: store, keys } = launched;
const watch = new MoveWatch({ store, keys, units: job.job.cluster.units, onDesired: () => {} });
const faults: string[] = [];
let killed = 0;

/** Random ones that run. */
function killSome(count: number): number[] {
  const live = launched.processes('pserver');
  const victims = Array.from({ length: count }, () => live.splice(Math.floor(Math.random() * live.length), 1)[0]!);
  for (const { pid } of victims) launched.kill(pid);
  killed += count;
  return victims.map(({ index }) => index);
}

/** All units may have their copies before a pserver that was killed is there again. */
const untilAllOk = (): Promise<void> =>
  launched.until((entries) => {
    const wanted = Number(entries.get('/ps_desired')?.value ?? pservers);
    const live = [...entries.keys()].filter((key) => key.startsWith('/ps/')).length;
    return statusIs('OK')(entries) && live >= wanted;
  });

/** Each unit has its copies again by itself. Milliseconds that it took. */
async function killWhenOk(): Promise<number> {
  await untilAllOk();
  const unhealthy = launched.until(statusIs('UNHEALTHY'));
  const beganMs = performance.now();
  killSome(atOnce);
  await unhealthy;
  await untilAllOk();
  return performance.now() - beganMs;
}

async function resizeTo(wanted: number): Promise<void> {
  await untilAllOk();
  const args = ['resize', '--pservers', `${wanted}`, '--store', launched.store.url, '--timeout', '180s', '--json'];
  const resizing = promisify(execFile)(paddlet, args);
  let isSettled = false;
  const settled = resizing.finally(() => {
    isSettled = true;
  });
  const left = (): number => watch.spread()?.toMove ?? 0;
  while (!isSettled && left() === 0) await sleep(POLL_MS);
  // When so many units are still to move, and not after some time: on a slow machine all or none would have moved.
  const when = 1 + Math.floor(Math.random() * left());
  while (!isSettled && left() > when) await sleep(POLL_MS);
  const toMove = isSettled ? 0 : left();
  const index = killSome(1);
  if (toMove === 0) faults.push(`resize to ${wanted}: no unit was moving when a pserver was killed`);
  const { stdout } = await settled;
  const { outcome, units } = JSON.parse(stdout) as { outcome: string; units: object };
  print(`to ${wanted}: pserver ${index.join()} killed with ${toMove} to move; ${outcome}, ${JSON.stringify(units)}`);
  await untilAllOk();
}

const repairs: number[] = [];
await untilAllOk();
print(`${mode}, ${pservers} pservers, ${values.replicas} copies, ${values.store}; load ${loadavg()[0]!.toFixed(1)}`);
for (const size of sizes) await resizeTo(size);
for (let kill = 0; kill < kills; kill++) repairs.push(await killWhenOk());
if (await launched.hasResult) faults.push('the job has ended before all was done to it: give it more --passes');
const { code, err } = await launched.running.ended;
const result = await store.get(keys.result);
const { checkpoints, logs } = launched;
const account = await checkAccount(job, { result, checkpoints, logs, plain });
faults.push(...account.faults);
if (code !== 0) faults.push(`exit code ${code}: ${err.slice(-500)}`);
const recovery = (await store.get(keys.recovery))?.value ?? '0';
const cut = (await launched.store.get('/checkpoints/cut'))?.value ?? '{"timeline":0}';
const { timeline } = JSON.parse(cut) as { timeline: number };
if (sizes.length === 0 && (recovery !== '0' || timeline !== 0)) {
  faults.push(`something was loaded from a file: recovery number ${recovery}, timeline ${timeline}`);
}
if (sizes.length > 0) print(`units moved ${watch.moved}, taken over ${watch.adopted}`);
watch.stop();
const shown = [...repairs].sort((a, b) => a - b);
print(`${killed} pservers killed, ${atOnce} at once; recovery number ${recovery}, timeline ${timeline}`);
if (shown.length > 0) {
  print(`OK again after ${shown[Math.floor(shown.length / 2)]!.toFixed(0)} ms, at most ${shown.at(-1)!.toFixed(0)} ms`);
}
print(`applied ${account.result?.records.applied} of ${job.job.training.passes * job.records}`);
if (plain !== undefined) {
  print(`digests ${plain.modelDigest.slice(0, 12)} ${plain.stateDigest.slice(0, 12)} of a plain loop`);
}
for (const fault of faults) print(`VIOLATED: ${fault}`);
await launched.close();
await etcd?.stop();
if (faults.length === 0) rmSync(folder, { recursive: true, force: true });
else print(`logs are kept in ${logs}`);
print(`${faults.length === 0 ? 'all holds' : 'VIOLATED'}; load ${loadavg()[0]!.toFixed(1)}`);
process.exit(faults.length === 0 ? 0 : 1);
