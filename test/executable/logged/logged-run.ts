/** `paddlet run` of the test build, and the check of everything that its processes have logged. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import * as z from 'zod';
import { bundle } from '../../../scripts/build-steps/bundle.ts';
import type { JobResult } from '../../../src/cluster/job/job-result.ts';
import { ROOT } from '../../source-files.ts';
import type { Place } from '../harness.ts';
import { type Entries, type JobStore, openJobStore } from '../job-store.ts';
import type { Running } from '../processes.ts';
import { JOB_FOLDER, type JobRun, liveProcesses, runArguments } from '../run.ts';
import { referenceJob } from './arithmetic.ts';
import { shardsIn } from './final-files.ts';
import { JOB, RULES, SEED } from './limited-job.ts';
import { checkLineages, type Facts } from './lineages.ts';
import { jobIn, segmentsOf } from './segments.ts';
import { LOGS, readLogs } from './update-log.ts';

const INTERRUPTED = 130;

/** One file starts faster than the sources, and each test starts it some twenty times. */
let bundled: Promise<string> | undefined;

async function testBuild(): Promise<string> {
  const folder = join(ROOT, 'build/logged');
  mkdirSync(folder, { recursive: true });
  const { code } = await bundle('test/executable/logged/paddlet.ts', ROOT);
  const script = join(folder, 'paddlet.cjs');
  writeFileSync(script, code);
  return script;
}

const logsOf = (place: Place): string => place.path('updates');

/** Starts the run of the test build; resolves when its store exists. `slowly`: fail points of its roles. */
export async function startLogged(place: Place, job: string, slowly = ''): Promise<JobRun> {
  bundled ??= testBuild();
  const script = await bundled;
  mkdirSync(logsOf(place), { recursive: true });
  const args = runArguments(job);
  const env = { PADDLET_FAIL: slowly, [LOGS]: logsOf(place), NODE_COMPILE_CACHE: join(script, '../compiled') };
  const running = place.startCommand('run', [process.execPath, script, ...args], env);
  await running.said(/logs in/);
  const store = await openJobStore(`sqlite:${place.path(JOB_FOLDER, 'store.db')}`, JOB.name);
  return { running, store, args };
}

/** Until all units have their copies. */
export const untilWhole = (store: JobStore, running: Running): Promise<void> =>
  store.until(
    (entries) => entries.get('/pserver_cluster_status')?.value.includes('"cluster_status":"OK"') ?? false,
    running,
  );

/** Until all pservers have published other files than now. */
export async function untilSaved(store: JobStore, running: Running): Promise<void> {
  const before = filesIn(await store.entries());
  await store.until((entries) => {
    const now = filesIn(entries);
    return now.size > 0 && [...now].every(([key, value]) => before.get(key) !== value);
  }, running);
}

/** Until the newest files of all pservers are deltas. */
export const untilDeltas = (store: JobStore, running: Running): Promise<void> =>
  store.until((entries) => {
    const kinds = [...filesIn(entries).values()].map((value) => fileSchema.parse(JSON.parse(value)).kind);
    return kinds.length > 0 && kinds.every((kind) => kind === 'delta');
  }, running);

/** How often a pserver has begun with a delta and the files that it builds on. */
export const deltasLoaded = (place: Place): number =>
  place
    .logs()
    .split('\n')
    .filter((line) => /serving \d+ shards .* from="delta /.test(line)).length;

const filesIn = (entries: Entries): Map<string, string> =>
  new Map(
    [...entries].flatMap(([key, { value }]) => (/^\/checkpoints\/\d+$/.test(key) ? [[key, value] as const] : [])),
  );

/**
 * Kills up to `count` pservers at once. Resolves when other processes have their indexes, all units have their copies,
 * and all pservers have published a file since then.
 */
export async function killPservers(place: Place, { running, store }: JobRun, count: number): Promise<void> {
  const before = tokensIn(await store.entries());
  const ended = running.ended.then(({ code }): never => {
    throw new Error(`the run ended with exit code ${code} before pservers were killed`);
  });
  const live = (await Promise.race([liveProcesses(place, 1 + before.size), ended])).filter(
    ({ role }) => role === 'pserver',
  );
  const killed = live.slice(0, count);
  for (const { pid } of killed) process.kill(pid, 'SIGKILL');
  await store.until((entries) => {
    const now = tokensIn(entries);
    return killed.every(({ index }) => now.has(index!) && now.get(index!) !== before.get(index!));
  }, running);
  await untilWhole(store, running);
  await untilSaved(store, running);
}

/** By index of a pserver: the token of the process that has it. */
const tokensIn = (entries: Entries): Map<number, string> =>
  new Map(
    [...entries].flatMap(([key, { createRevision }]) => {
      const index = /^\/ps\/(\d+)$/.exec(key)?.[1];
      return index === undefined ? [] : [[Number(index), createRevision.toString()] as const];
    }),
  );

/** SIGKILL of all processes of the run at once. */
export async function killAll(place: Place, { running }: JobRun): Promise<void> {
  for (const pid of place.alive()) process.kill(pid, 'SIGKILL');
  const { signal } = await running.ended;
  expect(signal).toBe('SIGKILL');
}

/** Stops the run cleanly. */
export async function stop({ running }: JobRun): Promise<void> {
  running.kill('SIGINT');
  const { code } = await running.ended;
  expect(code).toBe(INTERRUPTED);
}

const fileSchema = z.object({ uuid: z.uuid(), kind: z.string().optional() });

/** Candidates in the files that a stopped run has left. */
export async function candidatesIn(place: Place, store: JobStore): Promise<number> {
  const paths = [...filesIn(await store.entries())].map(([key, value]) =>
    place.path(JOB_FOLDER, key.slice(1), fileSchema.parse(JSON.parse(value)).uuid),
  );
  const contents = await shardsIn(paths);
  const tables = Object.keys(RULES).length;
  return contents.flatMap((content) => content.tables.slice(tables)).reduce((sum, { ids }) => sum + ids.length, 0);
}

/** Every state that some process began with, and the final one, is that of the reference after the logged updates. */
export async function expectReplayed(place: Place, result: JobResult): Promise<Facts> {
  const logs = readLogs(logsOf(place));
  const job = jobIn(logs);
  const files = result.checkpoints.map(({ index, uuid }) => place.path(JOB_FOLDER, 'checkpoints', String(index), uuid));
  return checkLineages(referenceJob(job, SEED, RULES), segmentsOf(logs, job), await shardsIn(files));
}
