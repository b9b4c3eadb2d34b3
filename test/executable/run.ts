/** `paddlet run` of the planted job, from its start to wherever a test strikes. */
import { expect, vi } from 'vitest';
import * as z from 'zod';
import type { Place } from './harness.ts';
import { type JobStore, openJobStore } from './job-store.ts';
import { JOB, TASKS } from './planted-job.ts';
import type { Running } from './processes.ts';

export const JOB_FOLDER = 'job';

/** Processes of the planted job. */
export const ROLES = 1 + JOB.cluster.pservers + JOB.cluster.trainers;

/**
 * Fail points that make the planted job ten seconds longer, however fast the machine is: what strikes in mid-run does
 * so before it is over, even when the test is held up.
 */
export const SLOWLY = 'trainer.dealt:delay=20';

/** The same for the short one. */
export const SHORT_SLOWLY = 'trainer.dealt:delay=80';

export interface JobRun {
  readonly running: Running;
  readonly store: JobStore;
  readonly args: readonly string[];
}

/** The command line of `run`, the same each time. */
export const runArguments = (job: string): string[] => ['run', job, '--dir', JOB_FOLDER, '--json', '--expose-metrics'];

/** Starts the run; resolves when its store exists. `slowly`: fail points that delay its roles. `name`: the job's. */
export async function startRun(place: Place, job: string, slowly = SLOWLY, name = JOB.name): Promise<JobRun> {
  const args = runArguments(job);
  const running = place.start('run', args, { PADDLET_FAIL: slowly });
  await running.said(/logs in/);
  const store = await openJobStore(`sqlite:${place.path(JOB_FOLDER, 'store.db')}`, name);
  return { running, store, args };
}

/** The fault hit in mid-run: some tasks were done, and not all. */
export async function expectMidRun(store: JobStore, tasks = TASKS): Promise<number> {
  const done = await store.tasksDone();
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThan(tasks);
  return done;
}

/** Until the look does not throw: at what tells of itself by no event. */
export const eventually = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 120_000 });

const processSchema = z.object({
  role: z.enum(['master', 'pserver', 'trainer']),
  index: z.number().optional(),
  id: z.string().optional(),
  /** Of those that answered. */
  pid: z.number().optional(),
  address: z.string(),
  /** Of a pserver of a job with a staleness bound. */
  staleness: z.object({ max: z.number() }).optional(),
});
const statusSchema = z.object({ processes: z.array(processSchema) });
export type LiveProcess = z.infer<typeof processSchema> & { readonly pid: number };

/**
 * The live processes of a job, as `paddlet status` names them; `where` are the flags that say which job. The key of one
 * that was killed is there for a while, but it does not answer. Asked again until so many do: work goes on before the
 * slower ones have come, and who is too busy to answer in time is missing.
 */
export function describeProcesses(place: Place, where: readonly string[], atLeast: number): Promise<LiveProcess[]> {
  return eventually(async () => {
    const { processes } = statusSchema.parse(await place.json('status', ...where));
    const live = processes.filter((process): process is LiveProcess => process.pid !== undefined);
    expect(live.length).toBeGreaterThanOrEqual(atLeast);
    return live;
  });
}

/** Those of the job under `run`. */
export const liveProcesses = (place: Place, atLeast = 0): Promise<LiveProcess[]> =>
  describeProcesses(place, ['--dir', JOB_FOLDER], atLeast);

/** Waits for one that answers, whatever the others do. */
export const liveOne = (place: Place, role: LiveProcess['role']): Promise<LiveProcess> =>
  eventually(async () => oneOf(await liveProcesses(place), role));

export function oneOf(processes: readonly LiveProcess[], role: LiveProcess['role']): LiveProcess {
  const found = processes.find((process) => process.role === role);
  if (found === undefined) throw new Error(`no ${role} among the live processes`);
  return found;
}
