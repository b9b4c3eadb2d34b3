/**
 * `npx node scripts/bench/copy-memory.ts [--mb 500] [--pservers 3]`: what copies of units take in memory. The same
 * model is pushed to a job with 1, 2 and 3 copies. It prints the resident memory of the pservers at the end, and what
 * of it came with each copy, beside the bytes of the model: of each id a value and its places in two indexes.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Recorder, recordedJob } from '../../test/executable/recorded-pushes.ts';
import { HandCluster } from './replicated/hand-cluster.ts';

const { values } = parseArgs({
  options: {
    mb: { type: 'string', default: '500' },
    pservers: { type: 'string', default: '3' },
    paddlet: { type: 'string', default: join(resolve(import.meta.dirname, '../..'), 'dist/paddlet') },
  },
});
const pservers = Number(values.pservers);
const modelBytes = Number(values.mb) * 1e6;
/** The job is logistic regression under SGD: one float an id, the id, and its place. */
const BYTES_PER_ID = 4 + 2 * 8;
const ROWS = 50_000;
const PUSHES = Math.ceil(modelBytes / BYTES_PER_ID / ROWS);
const COPIES = [1, 2, 3];
const JOB = 'bench-copy-memory';
/** Buffers of the last pushes are given back. */
const SETTLE_MS = 3_000;
const MB = 1e6;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const residentBytes = (pid: number): number =>
  1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);

interface Measured {
  readonly emptyBytes: number;
  readonly bytes: readonly number[];
  readonly rows: number;
}
const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);

async function measure(replicas: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
  const storeUrl = `sqlite:${join(folder, 'store.db')}`;
  const job = recordedJob(folder, JOB, { pservers, replicas, leaseTtl: '30s' });
  const cluster = new HandCluster({ paddlet: resolve(values.paddlet), folder, storeUrl, job, isGuarded: false });
  cluster.start(pservers);
  const onFatal = (error: Error): never => {
    throw error;
  };
  const recorder = await Recorder.open({ storeUrl, job: JOB, rows: ROWS, onFatal });
  await recorder.untilStatus('OK');
  const resident = (): number[] => Array.from({ length: pservers }, (_, index) => residentBytes(cluster.pidOf(index)));
  const emptyBytes = sum(resident());
  const pushed = Promise.withResolvers<void>();
  recorder.onAcknowledged = () => {
    if (recorder.history.length >= PUSHES) pushed.resolve();
  };
  recorder.start(1);
  await pushed.promise;
  await recorder.stop();
  await sleep(SETTLE_MS);
  const bytes = resident();
  cluster.killAll();
  await recorder.close();
  rmSync(folder, { recursive: true, force: true });
  return { emptyBytes, bytes, rows: recorder.history.length * ROWS };
}

print(`${pservers} pservers, a model of ${values.mb} MB; load ${loadavg()[0]!.toFixed(1)}`);
const totals: number[] = [];
for (const copies of COPIES.filter((count) => count <= pservers)) {
  const { emptyBytes, bytes, rows } = await measure(copies);
  const total = sum(bytes);
  const more = total - (totals.at(-1) ?? emptyBytes);
  totals.push(total);
  const each = bytes.map((one) => (one / MB).toFixed(0)).join(' + ');
  print(`${copies} copies: ${(total / MB).toFixed(0)} MB resident (${each}), ${(emptyBytes / MB).toFixed(0)} MB empty`);
  const ofModel = ((more / rows) * (modelBytes / BYTES_PER_ID)) / modelBytes;
  print(`  this copy: ${(more / MB).toFixed(0)} MB with ${rows} rows, ${ofModel.toFixed(2)} of the model`);
}
print(`load ${loadavg()[0]!.toFixed(1)}`);
process.exit(0);
