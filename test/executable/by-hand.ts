/** A cluster started by hand, role by role, on a store that the test gives. */
import { randomInt } from 'node:crypto';
import type { Place } from './harness.ts';
import { type JobStore, openJobStore } from './job-store.ts';
import { JOB } from './planted-job.ts';
import type { Running } from './processes.ts';
import { SLOWLY } from './run.ts';

export interface ByHand {
  readonly store: JobStore;
  readonly master: Running;
  readonly pservers: readonly [Running, Running];
  readonly trainers: readonly [Running, Running];
  /** Starts a role once more, with the command line that the first had. */
  again(name: 'master' | 'pserver 0' | 'pserver 1' | 'trainer 0'): Running;
}

/** Where each role keeps its checkpoints, below the place's folder. */
export const HAND_FOLDER = 'hand';

/** The command lines of a cluster with two pservers and two trainers. Only the master is given the job. */
export function commandLines(job: string): Record<string, string[]> {
  return {
    master: ['master', job, '--json'],
    'pserver 0': ['pserver', '--index', '0', '--dir', HAND_FOLDER],
    'pserver 1': ['pserver', '--index', '1', '--dir', HAND_FOLDER],
    'trainer 0': ['trainer'],
    'trainer 1': ['trainer'],
  };
}

/** Starts all roles, in a random order: any order works. `slowly`: fail points that delay them. */
export async function startByHand(place: Place, job: string, storeUrl: string, slowly = SLOWLY): Promise<ByHand> {
  const lines = commandLines(job);
  const start = (name: string): Running =>
    place.start(name, lines[name]!, { PADDLET_STORE: storeUrl, PADDLET_FAIL: slowly });
  const order = shuffled(Object.keys(lines));
  const started = new Map(order.map((name) => [name, start(name)]));
  const get = (name: string): Running => started.get(name)!;
  return {
    store: await openJobStore(storeUrl, JOB.name),
    master: get('master'),
    pservers: [get('pserver 0'), get('pserver 1')],
    trainers: [get('trainer 0'), get('trainer 1')],
    again: start,
  };
}

/** Fisher and Yates. */
function shuffled<T>(items: readonly T[]): T[] {
  const mixed = [...items];
  for (let i = mixed.length - 1; i > 0; i--) {
    const other = randomInt(i + 1);
    [mixed[i], mixed[other]] = [mixed[other]!, mixed[i]!];
  }
  return mixed;
}
