/**
 * `npx node scripts/sync-digests.ts [--paddlet dist/paddlet] [--data FOLDER] [--jobs lr,fm] [--rows NUMBER,…]`: trains
 * jobs in sync mode on clusters of real processes that could hardly be less alike, and compares the digests of model
 * and optimizer state with those of a plain loop (test/sync/reference-loop.ts). Prints a table; exits with 1 when a
 * digest is another, or when another seed or record makes the same one.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type ReferenceResult, referenceOf } from '../test/sync/reference-loop.ts';
import {
  JOB_NAMES,
  type JobName,
  jobNamed,
  OTHER_OPTIMIZERS,
  type SyncJob,
  withOneRecordChanged,
  withOptimizer,
  withSeed,
} from './sync-digests/jobs.ts';
import { ROWS, type Row, SEVERAL } from './sync-digests/rows.ts';
import { Scene } from './sync-digests/scene.ts';

const ROOT = resolve(import.meta.dirname, '..');
const ROW_TIMEOUT_MS = 400_000;

const { values } = parseArgs({
  options: {
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
    data: { type: 'string', default: resolve(ROOT, '../shared/data') },
    jobs: { type: 'string', default: JOB_NAMES.join(',') },
    /** Numbers of rows, from 1. */
    rows: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
});
const names = values.jobs.split(',') as JobName[];
for (const name of names) if (!JOB_NAMES.includes(name)) throw new Error(`--jobs: no ${name}`);
const rows = values.rows === undefined ? ROWS : values.rows.split(',').map((number) => ROWS[Number(number) - 1]!);
const folder = mkdtempSync(join(tmpdir(), 'paddlet-digests-'));
const startedMs = performance.now();
const faults: string[] = [];
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const COLUMNS = [18, 24, 14, 14, 10, 8] as const;

function tell(cells: readonly (string | number)[], note = ''): void {
  print(`${cells.map((cell, i) => String(cell).padEnd(COLUMNS[i]!)).join(' ')} ${note}`.trimEnd());
}

const short = (digest: string): string => digest.slice(0, 12);

async function reference(job: SyncJob): Promise<ReferenceResult> {
  const beganMs = performance.now();
  const result = await referenceOf(job.file, job.dataDir);
  tell([
    job.name,
    'a plain loop',
    short(result.modelDigest),
    short(result.stateDigest),
    result.applied,
    seconds(beganMs),
  ]);
  return result;
}

const seconds = (sinceMs: number): string => ((performance.now() - sinceMs) / 1000).toFixed(1);

async function compare(job: SyncJob, row: Row, wanted: ReferenceResult): Promise<void> {
  const beganMs = performance.now();
  const place = join(folder, `${job.name}-${row.name}`.replaceAll(/[^a-z0-9]+/g, '-'));
  mkdirSync(place);
  const cacheFolder = join(folder, 'cache');
  const signal = AbortSignal.timeout(ROW_TIMEOUT_MS);
  const etcd = row.etcd === true;
  const scene = await Scene.open({ paddlet: resolve(values.paddlet), folder: place, cacheFolder, job, etcd, signal });
  try {
    const note = await row.run(scene, { rounds: wanted.rounds, seed: Number(values.seed) });
    const { modelDigest, stateDigest, records } = await scene.result();
    const faulty = [
      ...(modelDigest === wanted.modelDigest ? [] : ['another modelDigest']),
      ...(stateDigest === wanted.stateDigest ? [] : ['another stateDigest']),
      ...(records.applied === wanted.applied && records.lost === 0 ? [] : [`applied, lost ${records.lost}`]),
    ];
    const cells = [job.name, row.name, short(modelDigest), short(stateDigest), records.applied, seconds(beganMs)];
    tell(cells, faulty.length === 0 ? note : `DIFFERS: ${faulty.join(', ')} ${note}`);
    if (faulty.length > 0) faults.push(`${job.name}, ${row.name}: ${faulty.join(', ')}; see ${place}`);
  } catch (error) {
    const why = signal.aborted ? `not done after ${ROW_TIMEOUT_MS / 1000} s` : (error as Error).message;
    tell([job.name, row.name, '-', '-', '-', seconds(beganMs)], `FAILED: ${why}`);
    faults.push(`${job.name}, ${row.name}: ${why}; see ${place}`);
  } finally {
    await scene.close();
  }
  const isGood = !faults.some((fault) => fault.endsWith(place));
  if (isGood) rmSync(place, { recursive: true });
}

// Every cluster kills its processes when this one ends.
process.setMaxListeners(0);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

tell(['job', 'cluster', 'modelDigest', 'stateDigest', 'applied', 'seconds'], 'what was done');
for (const name of names) {
  const job = jobNamed(name, values.data);
  const wanted = await reference(job);
  for (const row of rows) await compare(job, row, wanted);
  if (name !== 'lr' || values.rows !== undefined) continue;
  for (const optimizer of OTHER_OPTIMIZERS) {
    const other = withOptimizer(job, optimizer);
    await compare(other, SEVERAL, await reference(other));
  }
  for (const control of [withSeed(job, 2), withOneRecordChanged(job, join(folder, 'changed'))]) {
    const other = await reference(control);
    const isSame = other.modelDigest === wanted.modelDigest || other.stateDigest === wanted.stateDigest;
    if (isSame) faults.push(`${control.name}: the same digests as without it`);
    await compare(control, SEVERAL, other);
  }
}
print(`${seconds(startedMs)} s, load of the machine ${loadavg()[0]!.toFixed(1)}`);
for (const fault of faults) print(`VIOLATED: ${fault}`);
if (faults.length === 0) rmSync(folder, { recursive: true });
print(faults.length === 0 ? 'all digests are what they should be' : `kept: ${folder}`);
process.exit(faults.length === 0 ? 0 : 1);
