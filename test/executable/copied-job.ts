/** A job whose units have two copies on three pservers, started role by role; and what must hold of it. */
import { expect } from 'vitest';
import { HAND_FOLDER } from './by-hand.ts';
import { type Place, resultOf } from './harness.ts';
import { HeadHistory } from './head-history.ts';
import { type Entries, type JobStore, openJobStore } from './job-store.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import type { Running } from './processes.ts';

export const PSERVERS = 3;
export const COPIES = 2;
const TRAINERS = 2;
/** The job lasts for several times what a fault and its repair take. */
export const SLOWLY = 'trainer.dealt:delay=120';

export const copiedJob = (leaseTtlMs: number): typeof JOB => ({
  ...JOB,
  cluster: {
    ...JOB.cluster,
    ...{ pservers: PSERVERS, replicas: COPIES, trainers: TRAINERS, leaseTtl: `${leaseTtlMs}ms` },
  },
});

/** Starts a role: on this machine, or on another one. */
export type StartRole = (name: string, args: readonly string[], env: NodeJS.ProcessEnv) => Running;

export interface CopiedCluster {
  readonly place: Place;
  readonly store: JobStore;
  readonly heads: HeadHistory;
  readonly master: Running;
  readonly pservers: readonly Running[];
  readonly others: readonly Running[];
  /** Starts a pserver once more, as it was. */
  again(index: number): Running;
}

/** Status OK: every unit has all its copies. */
export const isOk = (entries: Entries): boolean =>
  entries.get('/pserver_cluster_status')?.value.includes('"cluster_status":"OK"') ?? false;

/** In mid-run, with all copies in sync. `start` is given names such as `pserver 1`. */
export async function startCopied(
  place: Place,
  storeUrl: string,
  leaseTtlMs: number,
  start: StartRole = (name, args, env) => place.start(name, args, env),
): Promise<CopiedCluster> {
  const job = await plantedJob(place, copiedJob(leaseTtlMs));
  const env = { PADDLET_STORE: storeUrl, PADDLET_FAIL: SLOWLY };
  const master = start('master', ['master', job, '--json'], env);
  const again = (index: number): Running =>
    start(`pserver ${index}`, ['pserver', '--index', String(index), '--dir', HAND_FOLDER], env);
  const pservers = Array.from({ length: PSERVERS }, (_, index) => again(index));
  const trainers = Array.from({ length: TRAINERS }, (_, i) => start(`trainer ${i}`, ['trainer'], env));
  const store = await openJobStore(storeUrl, JOB.name);
  const heads = new HeadHistory(store);
  await store.until((entries) => isOk(entries) && entries.has('/tasks/passes/0'), master);
  return { place, store, heads, master, pservers, others: trainers, again };
}

/** Units that the process with that token leads. */
export const ledBy = (entries: Entries, token: string): string[] =>
  [...entries].flatMap(([key, { value }]) =>
    key.startsWith('/heads/') && value.includes(`"primary":{"index":`) && primaryToken(value) === token ? [key] : [],
  );

const primaryToken = (head: string): string => (JSON.parse(head) as { primary: { token: string } }).primary.token;

/** The token of the process that has the index. */
export async function tokenOf(store: JobStore, index: number): Promise<string> {
  return (await store.get(`/ps/${index}`))!.createRevision.toString();
}

/**
 * Each record counted once, no step of a head was one that no rule allows, and no state of before the last acknowledged
 * push was loaded.
 */
export async function expectNothingLost({ place, store, heads, master }: CopiedCluster): Promise<void> {
  const result = await resultOf(master);
  await expectWhole(place, result, place.path(HAND_FOLDER, 'checkpoints'));
  expect(heads.faults).toEqual([]);
  expect([...heads.loaded]).toEqual([]);
  expect(await store.get('/recovery')).toBeUndefined();
}
