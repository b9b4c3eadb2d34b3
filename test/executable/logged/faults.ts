/** Faults of a job with limited tables, one after the other, and the end of the job. */
import { expect } from 'vitest';
import type { JobResult } from '../../../src/cluster/job/job-result.ts';
import type { RandomStream } from '../../../src/data/synth/random-stream.ts';
import { type Place, resultOf } from '../harness.ts';
import { JOB_FOLDER, type JobRun, liveOne } from '../run.ts';
import { JOB, RULES } from './limited-job.ts';
import type { Facts } from './lineages.ts';
import {
  candidatesIn,
  killAll,
  killPservers,
  startLogged,
  stop,
  untilDeltas,
  untilSaved,
  untilWhole,
} from './logged-run.ts';

export type Fault =
  /** SIGKILL of one pserver. Where units have copies, these are promoted. */
  | { readonly type: 'killOne' }
  /** SIGKILL of one trainer, which may have sent a push to some pservers alone. */
  | { readonly type: 'killTrainer' }
  /** SIGKILL of all pservers at once: all shards are loaded from files. */
  | { readonly type: 'killPservers' }
  /** SIGKILL of all processes of the run at once; then the run is started again. */
  | { readonly type: 'killAll' }
  | { readonly type: 'resize'; readonly pservers: number }
  /** A clean stop; then the files are restored into another number of pservers, and the run is started again. */
  | { readonly type: 'restore'; readonly pservers: number }
  /** SIGKILL of all processes of the run; then what they had saved is restored into another number of pservers. */
  | { readonly type: 'restoreKilled'; readonly pservers: number };

/** Each trainer begins fast, so that there is something to lose. Then the job lasts until all faults have struck. */
export const SLOWLY = {
  async: 'trainer.pushed:delay=1000@15+',
  sync: 'trainer.lanes-pushed:delay=1000@12+',
};

export interface FaultyRun {
  readonly place: Place;
  /** Path of the job file. */
  readonly job: string;
  readonly slowly: string;
  /** Pservers die when their newest files are deltas. */
  readonly hasDeltas?: boolean;
  readonly faults: readonly Fault[];
}

/** The last part of the job runs at full speed. */
export async function runThroughFaults({
  place,
  job,
  slowly: points,
  hasDeltas,
  faults,
}: FaultyRun): Promise<JobResult> {
  const start = async (): Promise<JobRun> => {
    const started = await startLogged(place, job, points);
    await untilWhole(started.store, started.running);
    await untilSaved(started.store, started.running);
    return started;
  };
  let run = await start();
  for (const [at, fault] of faults.entries()) {
    const isLast = at === faults.length - 1;
    if (hasDeltas) await untilDeltas(run.store, run.running);
    if (fault.type === 'killOne') await killPservers(place, run, 1);
    else if (fault.type === 'killTrainer') process.kill((await liveOne(place, 'trainer')).pid, 'SIGKILL');
    else if (fault.type === 'killPservers') await killPservers(place, run, JOB.cluster.maxPservers);
    else if (fault.type === 'resize') {
      await place.json('resize', '--dir', JOB_FOLDER, '--pservers', String(fault.pservers));
      await untilSaved(run.store, run.running);
    } else {
      if (fault.type === 'killAll') await killAll(place, run);
      else if (fault.type === 'restoreKilled') {
        await killAll(place, run);
        await restore(place, fault.pservers, '--lease-wait', '30s');
      } else {
        await stop(run);
        // Some ids are on their way to a row.
        expect(await candidatesIn(place, run.store)).toBeGreaterThan(0);
        await restore(place, fault.pservers);
      }
      if (isLast) return resultOf((await startLogged(place, job)).running);
      run = await start();
    }
  }
  await stop(run);
  return resultOf((await startLogged(place, job)).running);
}

const restore = (place: Place, pservers: number, ...flags: string[]): Promise<unknown> =>
  place.json('restore', '--dir', JOB_FOLDER, '--pservers', String(pservers), ...flags);

const FAULT_TYPES = [
  ...(['killOne', 'killTrainer', 'killPservers', 'killAll'] as const),
  ...(['resize', 'restore', 'restoreKilled'] as const),
] as const;

/**
 * Each fault is as likely as any other one. The number of pservers changes with each resize and restore; there are
 * always as many as a unit has copies.
 */
export function anyFaults(random: RandomStream, count: number, pservers: number, replicas: number): Fault[] {
  let now = pservers;
  return Array.from({ length: count }, () => {
    const type = pick(random, FAULT_TYPES);
    if (type !== 'resize' && type !== 'restore' && type !== 'restoreKilled') return { type };
    now = pick(
      random,
      [1, 2, 3, 4].filter((one) => one !== now && one >= replicas),
    );
    return { type, pservers: now };
  });
}

const pick = <T>(random: RandomStream, all: readonly T[]): T => all[Math.floor(all.length * random.uniform())]!;

/** Each rule had something to do. `isUnseen`: whether some ids are in no update of a pass. */
export function expectEvents({ events, takenOver }: Facts, isUnseen: boolean): void {
  for (const [table, { eviction, maxBytes }] of Object.entries(RULES)) {
    const isEvicting = eviction !== undefined && ('unseenUpdates' in eviction || isUnseen);
    const expected = maxBytes === undefined ? (isEvicting ? 'unseen' : undefined) : 'bound';
    if (expected !== undefined)
      expect(events.get(`${table} ${expected}`) ?? 0, `${table} ${expected}`).toBeGreaterThan(0);
  }
  expect(takenOver).toBeGreaterThan(0);
}
