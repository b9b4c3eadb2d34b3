/** Roles that are killed at the steps that fail points mark, one step after the other within one job. */
import { expect } from 'vitest';
import { commandLines, HAND_FOLDER } from './by-hand.ts';
import { endWell, openPlace, type Place, resultOf } from './harness.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import type { Running } from './processes.ts';

/** Often, so that a step of saving is never far. */
export const SAVING_JOB = { ...JOB, checkpoint: { interval: '100ms' } };

export interface Hand {
  readonly place: Place;
  readonly storeUrl: string;
  start(name: string, fail?: string): Running;
  /** Starts the role with the point armed; resolves when it was hit dead there. */
  diesAt(name: string, fail: string): Promise<void>;
}

/** By hand, on SQLite. */
export async function setUp(job: object = SAVING_JOB): Promise<Hand> {
  const place = openPlace();
  const lines = commandLines(await plantedJob(place, job));
  const storeUrl = `sqlite:${place.path('store.db')}`;
  const start = (name: string, fail = ''): Running =>
    place.start(name, lines[name]!, { PADDLET_STORE: storeUrl, PADDLET_FAIL: fail });
  return {
    place,
    storeUrl,
    start,
    async diesAt(name, fail) {
      const hit = start(name, fail);
      const { code, signal, err } = await hit.ended;
      expect({ fail, code, signal }).toEqual({ fail, code: null, signal: 'SIGKILL' });
      expect(err).toContain(`fail point ${fail}\n`);
    },
  };
}

export async function expectWholeEnd({ place }: Hand, master: Running, others: readonly Running[]): Promise<void> {
  const result = await resultOf(master);
  await endWell(others);
  await expectWhole(place, result, place.path(HAND_FOLDER, 'checkpoints'));
}
