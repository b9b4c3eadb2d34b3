/** `paddlet run` of the planted job, from its start to wherever a test strikes. */
import { expect } from 'vitest';
import * as z from 'zod';
import type { Place } from './harness.ts';
import { type JobStore, openJobStore } from './job-store.ts';
import { JOB, TASKS } from './planted-job.ts';
import type { Running } from './processes.ts';

export const JOB_FOLDER = 'job';

export interface JobRun {
  readonly running: Running;
  readonly store: JobStore;
  readonly args: readonly string[];
}

/** The command line of `run`, the same each time. */
export const runArguments = (job: string): string[] => ['run', job, '--dir', JOB_FOLDER, '--json'];

/**
 * Starts the run; resolves when its store is there. `slowly`: fail points that delay its roles, for faults that must strike
 * before a fast machine is done.
 */
export async function startRun(place: Place, job: string, slowly?: string): Promise<JobRun> {
  const args = runArguments(job);
  const running = place.start('run', args, slowly === undefined ? {} : { PADDLET_FAIL: slowly });
  await running.said(/logs in/);
  const store = await openJobStore(`sqlite:${place.path(JOB_FOLDER, 'store.db')}`, JOB.name);
  return { running, store, args };
}

/** The fault struck in mid-run: some tasks were done, and not all. */
export async function expectMidRun(store: JobStore): Promise<number> {
  const done = await store.tasksDone();
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThan(TASKS);
  return done;
}

const processSchema = z.object({
  role: z.enum(['master', 'pserver', 'trainer']),
  index: z.number().optional(),
  id: z.string().optional(),
  /** Of those that answered. */
  pid: z.number().optional(),
  address: z.string(),
});
const statusSchema = z.object({ processes: z.array(processSchema) });
export type LiveProcess = z.infer<typeof processSchema> & { readonly pid: number };

/**
 * The live processes of a job, as `paddlet status` names them; `where` are the flags that say which job. The key of one
 * that was killed is there for a while, but it does not answer.
 */
export async function describeProcesses(place: Place, ...where: string[]): Promise<LiveProcess[]> {
  const { processes } = statusSchema.parse(await place.json('status', ...where));
  return processes.filter((process): process is LiveProcess => process.pid !== undefined);
}

/** Those of the job under `run`. */
export const liveProcesses = (place: Place): Promise<LiveProcess[]> => describeProcesses(place, '--dir', JOB_FOLDER);

export function oneOf(processes: readonly LiveProcess[], role: LiveProcess['role']): LiveProcess {
  const found = processes.find((process) => process.role === role);
  if (found === undefined) throw new Error(`no ${role} among the live processes`);
  return found;
}
