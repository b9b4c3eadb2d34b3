/**
 * `npx node scripts/bench/goodput.ts [--minutes 20] [--every 30] [--replicas 2] [--delay 50]`: what a job with copies
 * of its units gets done while every so many seconds a random role (master, pserver, trainer) is killed. Stretches with
 * kills and without take turns in one job, so that other work on the machine slows both. It prints records a second of
 * each, and checks the record account: exit code 1 if it is not exact.
 *
 * `--delay`: milliseconds that a trainer takes for a task of 800 records besides its work, so that trainers and not
 * the cores of this machine are what the speed depends on. 0 for none.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { checkAccount } from '../chaos/account.ts';
import { makeJob } from '../chaos/jobs.ts';
import { Launched, type LaunchedRole, statusIs } from '../chaos/launched.ts';
import { tasksDone } from '../chaos/progress.ts';

const { values } = parseArgs({
  options: {
    /** With kills, all in all. */
    minutes: { type: 'string', default: '20' },
    /** Seconds between two kills. */
    every: { type: 'string', default: '30' },
    /** Kills of one stretch. */
    stretch: { type: 'string', default: '8' },
    /** Seconds of each stretch without. */
    quiet: { type: 'string', default: '40' },
    pservers: { type: 'string', default: '3' },
    replicas: { type: 'string', default: '2' },
    trainers: { type: 'string', default: '3' },
    delay: { type: 'string', default: '50' },
    paddlet: { type: 'string', default: join(resolve(import.meta.dirname, '../..'), 'dist/paddlet') },
  },
});
const kills = Math.round((Number(values.minutes) * 60) / Number(values.every));
const everyMs = Number(values.every) * 1000;
const stretch = Number(values.stretch);
const quietMs = Number(values.quiet) * 1000;
const quietStretches = Math.ceil(kills / stretch) + 1;
const TASK_RECORDS = 800;
const WARM_UP_MS = 15_000;
/** Passes beyond what the trial says, as it may have been slower than the job will be. */
const HEADROOM = 1.15;
const AIM = 0.9;
const ROLES: readonly LaunchedRole[] = ['master', 'pserver', 'trainer'];
const paddlet = resolve(values.paddlet);
const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function jobOf(passes: number) {
  const [pservers, trainers] = [Number(values.pservers), Number(values.trainers)];
  const made = await makeJob('synth', {
    ...{ mode: 'async' as const, passes, leaseMs: 5_000, pservers, maxPservers: pservers, trainers },
    ...{ paddlet, folder, realData: '' },
  });
  const job = {
    ...made.job,
    data: { ...made.job.data, recordsPerTask: TASK_RECORDS },
    training: { ...made.job.training, batchSize: 100 },
    cluster: { ...made.job.cluster, replicas: Number(values.replicas) },
    checkpoint: { interval: '30s' },
  };
  return { ...made, job };
}

async function start(name: string, passes: number) {
  const job = await jobOf(passes);
  const failPoints = Number(values.delay) > 0 ? { failPoints: `trainer.dealt:delay=${values.delay}` } : {};
  const launched = await Launched.start({ paddlet, folder: join(folder, name), job, ...failPoints });
  await launched.until((entries) => statusIs('OK')(entries) && entries.has('/tasks/passes/0'));
  return { job, launched };
}

/** Records of tasks that are done. */
async function recordsDone({ rawStore, keys }: Launched): Promise<number> {
  for (;;) {
    const tasks = await tasksDone(rawStore, keys);
    if (tasks !== undefined) return tasks * TASK_RECORDS;
  }
}

interface Stretch {
  readonly records: number;
  readonly seconds: number;
}
const perSecond = (all: readonly Stretch[]): number =>
  all.reduce((sum, { records }) => sum + records, 0) / all.reduce((sum, { seconds }) => sum + seconds, 0);

async function during(launched: Launched, what: () => Promise<unknown>): Promise<Stretch> {
  const [before, beganMs] = [await recordsDone(launched), performance.now()];
  await what();
  const [after, endedMs] = [await recordsDone(launched), performance.now()];
  return { records: after - before, seconds: (endedMs - beganMs) / 1000 };
}

const killed = new Map<LaunchedRole, number>();

function killOne(launched: Launched): void {
  const role = ROLES[Math.floor(Math.random() * ROLES.length)]!;
  const live = launched.processes(role);
  const victim = live[Math.floor(Math.random() * live.length)];
  if (victim === undefined) throw new Error(`no ${role} is running ${values.every} s after the last kill`);
  launched.kill(victim.pid);
  killed.set(role, (killed.get(role) ?? 0) + 1);
}

async function withKills(launched: Launched, count: number): Promise<void> {
  for (let kill = 0; kill < count; kill++) {
    killOne(launched);
    await sleep(everyMs);
  }
}

/** How many passes last as long as all stretches take. */
async function passesNeeded(): Promise<number> {
  const { job, launched } = await start('trial', 100_000);
  const { records, seconds } = await during(launched, () => sleep(WARM_UP_MS));
  launched.running.kill('SIGTERM');
  await launched.running.ended;
  await launched.close();
  const runSeconds = (kills * everyMs + quietStretches * quietMs) / 1000;
  return Math.ceil(((records / seconds) * runSeconds * HEADROOM) / job.records);
}

const passes = await passesNeeded();
print(`${values.pservers} pservers, ${values.replicas} copies, ${values.trainers} trainers, delay ${values.delay} ms`);
print(`${passes} passes; load ${loadavg()[0]!.toFixed(1)}`);
const { job, launched } = await start('job', passes);
const calm: Stretch[] = [];
const struck: Stretch[] = [];
const hasEnded = async (): Promise<boolean> => launched.running.isOver || (await launched.hasResult);
for (let left = kills; ; left -= stretch) {
  const quiet = await during(launched, () => sleep(quietMs));
  // Where the job has ended in it, a part of the stretch had no work.
  if (!(await hasEnded())) calm.push(quiet);
  if (left <= 0) break;
  struck.push(await during(launched, () => withKills(launched, Math.min(left, stretch))));
  const [without, withThem] = [perSecond(calm.slice(-1)), perSecond(struck.slice(-1))].map(Math.round);
  print(`without ${without}, with kills ${withThem} records/s; load ${loadavg()[0]!.toFixed(1)}`);
  if (await hasEnded()) throw new Error('the job has ended too early');
}
const { code } = await launched.running.ended;
const { checkpoints, logs } = launched;
const end = { result: await launched.store.get('/result'), checkpoints, logs, plain: undefined };
const account = await checkAccount(job, end);
const recovery = (await launched.store.get('/recovery'))?.value ?? '0';
await launched.close();
const ratio = perSecond(struck) / perSecond(calm);
print(`killed: ${[...killed].map(([role, count]) => `${role} ${count}`).join(', ')}; exit code ${code}`);
print(`without kills ${perSecond(calm).toFixed(0)} records/s, with kills ${perSecond(struck).toFixed(0)}`);
print(`goodput ${ratio.toFixed(3)} (aim ${AIM}: ${ratio >= AIM ? 'reached' : 'missed'})`);
print(`applied ${account.result?.records.applied}, ${passes} × ${job.records} = ${passes * job.records}`);
print(`lost ${account.result?.records.lost}, recovery number ${recovery}; load ${loadavg()[0]!.toFixed(1)}`);
for (const fault of account.faults) print(`VIOLATED: ${fault}`);
if (account.faults.length === 0) rmSync(folder, { recursive: true, force: true });
else print(`kept: ${folder}`);
process.exit(account.faults.length === 0 && code === 0 ? 0 : 1);
