/** Roles that are killed at the steps that fail points mark, one step after the other within one job. */
import { expect } from 'vitest';
import { commandLines, HAND_FOLDER } from './by-hand.ts';
import { endWell, openPlace, type Place, resultOf } from './harness.ts';
import { type JobStore, openJobStore } from './job-store.ts';
import { expectWhole, JOB, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import type { Running } from './processes.ts';

/** Often, so that a step of saving is never far. */
export const SAVING_JOB = { ...UNHURRIED_JOB, checkpoint: { interval: '100ms' } };

export interface Hand {
  readonly place: Place;
  readonly store: JobStore;
  start(name: string, fail?: string): Running;
  /** Starts the role with the point armed; resolves when it was hit dead there, and its lease has ended. */
  diesAt(name: string, fail: string): Promise<void>;
}

/** By hand, on SQLite. */
export async function setUp(job: object = SAVING_JOB): Promise<Hand> {
  const place = openPlace();
  const lines = commandLines(await plantedJob(place, job));
  const storeUrl = `sqlite:${place.path('store.db')}`;
  const store = await openJobStore(storeUrl, JOB.name);
  const start = (name: string, fail = ''): Running =>
    place.start(name, lines[name]!, { PADDLET_STORE: storeUrl, PADDLET_FAIL: fail });
  return {
    place,
    store,
    start,
    async diesAt(name, fail) {
      const hit = start(name, fail);
      const { code, signal, err } = await hit.ended;
      expect({ fail, code, signal }).toEqual({ fail, code: null, signal: 'SIGKILL' });
      expect(err).toContain(`fail point ${fail}\n`);
      // Leases are long, for those that live on.
      const key = keyOf(name);
      if (key !== undefined) await store.endLease(key);
    },
  };
}

/** The key that the next process of the role waits for. */
function keyOf(name: string): string | undefined {
  if (name === 'master') return '/master/lock';
  const [role, index] = name.split(' ');
  return role === 'pserver' ? `/ps/${index}` : undefined;
}

export async function expectWholeEnd({ place }: Hand, master: Running, others: readonly Running[]): Promise<void> {
  const result = await resultOf(master);
  await endWell(others);
  await expectWhole(place, result, place.path(HAND_FOLDER, 'checkpoints'));
}
