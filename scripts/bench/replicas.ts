/**
 * `npx node scripts/bench/replicas.ts [--pservers 3] [--seconds 10] [--rows 1000] [--rounds 2] [--copies 1,2,3]`:
 * what copies of units cost. The same client pushes to the same job with so many copies, in turns. It prints pushes a
 * second, beside those with the first number of copies in the same round, the processor time that a push takes all
 * pservers, and their resident memory in the end.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Recorder, recordedJob } from '../../test/executable/recorded-pushes.ts';
import { median } from './figure.ts';
import { HandCluster } from './replicated/hand-cluster.ts';

const { values } = parseArgs({
  options: {
    pservers: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '10' },
    rows: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '2' },
    copies: { type: 'string', default: '1,2,3' },
    paddlet: { type: 'string', default: join(resolve(import.meta.dirname, '../..'), 'dist/paddlet') },
  },
});
const pservers = Number(values.pservers);
const rows = Number(values.rows);
const COPIES = values.copies.split(',').map(Number);
const JOB = 'bench-replicas';
const WARM_UP_MS = 2_000;
const KIB = 1024;
/** Unit of the times in /proc (proc(5)): 100 ticks per second on Linux. */
const CLOCK_TICK_MS = 10;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Figures of all pservers, and the number of rows that they have then. */
interface Measured {
  readonly perSecond: number;
  /** Processor time of all pservers. */
  readonly processorMsPerPush: number;
  readonly residentMiB: number;
  readonly rowsMade: number;
}

const residentKiB = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);

/** Processor time of all threads, in user and kernel mode, since the process started. */
function processorMs(pid: number): number {
  const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  const [userTicks, kernelTicks] = [Number(afterName[11]), Number(afterName[12])];
  return (userTicks + kernelTicks) * CLOCK_TICK_MS;
}

async function measure(replicas: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
  const storeUrl = `sqlite:${join(folder, 'store.db')}`;
  const job = recordedJob(folder, JOB, { pservers, replicas, leaseTtl: '15s' });
  const cluster = new HandCluster({ paddlet: resolve(values.paddlet), folder, storeUrl, job, isGuarded: false });
  cluster.start(pservers);
  const onFatal = (error: Error): never => {
    throw error;
  };
  const recorder = await Recorder.open({ storeUrl, job: JOB, rows, onFatal });
  await recorder.untilStatus('OK');
  recorder.start();
  await sleep(WARM_UP_MS);
  const pids = Array.from({ length: pservers }, (_, index) => cluster.pidOf(index));
  const processorMsOfAll = (): number => pids.reduce((sum, pid) => sum + processorMs(pid), 0);
  const [before, beganMs, usedMs] = [recorder.history.length, performance.now(), processorMsOfAll()];
  await sleep(Number(values.seconds) * 1000);
  const pushes = recorder.history.length - before;
  const perSecond = (pushes / (performance.now() - beganMs)) * 1000;
  const processorMsPerPush = (processorMsOfAll() - usedMs) / pushes;
  await recorder.stop();
  const resident = pids.map(residentKiB);
  cluster.killAll();
  await recorder.close();
  rmSync(folder, { recursive: true, force: true });
  const residentMiB = resident.reduce((sum, one) => sum + one, 0) / KIB;
  return { perSecond, processorMsPerPush, residentMiB, rowsMade: recorder.history.length * rows };
}

print(`${pservers} pservers, ${rows} new rows a push, load ${loadavg()[0]!.toFixed(1)}`);
const ratios = new Map<number, number[]>(COPIES.map((copies) => [copies, []]));
for (let round = 0; round < Number(values.rounds); round++) {
  let first = 0;
  for (const copies of COPIES) {
    const { perSecond, processorMsPerPush, residentMiB, rowsMade } = await measure(copies);
    if (copies === COPIES[0]) first = perSecond;
    ratios.get(copies)!.push(perSecond / first);
    const speed = `${perSecond.toFixed(0)} pushes/s, ${(perSecond / first).toFixed(2)} of the first`;
    const processor = `${processorMsPerPush.toFixed(2)} ms of processor time a push`;
    print(`${copies} copies: ${speed}; ${processor}; ${residentMiB.toFixed(0)} MiB resident with ${rowsMade} rows`);
  }
}
for (const [copies, all] of ratios) print(`${copies} copies: median ${median(all).toFixed(2)} of the first`);
print(`load ${loadavg()[0]!.toFixed(1)}`);
process.exit(0);
