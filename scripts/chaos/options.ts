/** What is asked of a chaos run, on its command line. */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SmallDisk } from '../../test/store/small-disk.ts';
import { TARGETS, type Target } from './faults.ts';
import { JOB_NAMES, type JobName, type Mode } from './jobs.ts';
import type { DiskName } from './places.ts';

const ROOT = resolve(import.meta.dirname, '../..');

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'etcd' },
    mode: { type: 'string', default: 'async' },
    faults: { type: 'string', default: '50' },
    /** Units that must have moved. Then pservers come and go, and the job lasts until they have. */
    moves: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1000)) },
    job: { type: 'string', default: 'synth' },
    roles: { type: 'string' },
    passes: { type: 'string' },
    trainers: { type: 'string', default: '3' },
    /** Threads of each trainer. */
    threads: { type: 'string', default: '1' },
    pservers: { type: 'string', default: '2' },
    /** With --moves. */
    'max-pservers': { type: 'string', default: '4' },
    lease: { type: 'string', default: '2000' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
    data: { type: 'string', default: resolve(ROOT, '../shared/data') },
    quiet: { type: 'boolean', default: false },
  },
});

export interface ChaosOptions {
  readonly store: 'etcd' | 'sqlite';
  readonly mode: Mode;
  readonly faults: number;
  readonly moves: number;
  readonly seed: number;
  readonly job: JobName;
  readonly targets: readonly Target[];
  /** Why disks are left out, if they are. */
  readonly whyNoDisks: string | undefined;
  readonly passes: number | undefined;
  readonly trainers: number;
  readonly threads: number;
  readonly pservers: number;
  readonly maxPservers: number;
  readonly leaseMs: number;
  readonly paddlet: string;
  readonly data: string;
  readonly quiet: boolean;
}

export const isDisk = (target: Target): target is DiskName => target === 'disk' || target === 'store-disk';

/** Throws for what cannot be done. */
export function readOptions(): ChaosOptions {
  const { store, mode, job } = values;
  if (store !== 'etcd' && store !== 'sqlite') throw new Error(`--store ${store}: etcd or sqlite`);
  if (mode !== 'async' && mode !== 'sync') throw new Error(`--mode ${mode}: async or sync`);
  if (!JOB_NAMES.includes(job as JobName)) throw new Error(`--job ${job}: one of ${JOB_NAMES.join(', ')}`);
  const moves = Number(values.moves ?? 0);
  const pservers = Number(values.pservers);
  return {
    ...{ store, mode, job: job as JobName, moves, pservers, ...targetsOf(store, moves > 0) },
    maxPservers: moves > 0 ? Math.max(pservers, Number(values['max-pservers'])) : pservers,
    faults: Number(values.faults),
    seed: Number(values.seed),
    passes: values.passes === undefined ? undefined : Number(values.passes),
    trainers: Number(values.trainers),
    threads: Number(values.threads),
    leaseMs: Number(values.lease),
    paddlet: resolve(values.paddlet),
    data: values.data,
    quiet: values.quiet,
  };
}

function targetsOf(store: 'etcd' | 'sqlite', isMoving: boolean): Pick<ChaosOptions, 'targets' | 'whyNoDisks'> {
  const ofStore: readonly Target[] = store === 'etcd' ? ['etcd'] : ['sqlite', 'store-disk'];
  const others: readonly Target[] = ['etcd', 'sqlite', 'store-disk', 'resize', 'folder'];
  // Pservers that are added make the folder of the checkpoints when it is missing.
  const ofRun: readonly Target[] = [...ofStore, isMoving ? 'resize' : 'folder'];
  const possible = TARGETS.filter((target) => !others.includes(target) || ofRun.includes(target));
  const named: readonly string[] = values.roles?.split(',') ?? possible;
  for (const name of named) {
    if (!possible.includes(name as Target)) throw new Error(`--roles ${name}: here, ${possible.join(', ')}`);
  }
  /** Disks that cannot be had are left out. */
  const whyNoDisks = possible.some((target) => named.includes(target) && isDisk(target))
    ? SmallDisk.whyNot()
    : undefined;
  const targets = possible.filter((target) => named.includes(target) && !(isDisk(target) && whyNoDisks !== undefined));
  if (targets.length === 0) throw new Error(`no targets: ${whyNoDisks}`);
  return { targets, whyNoDisks };
}
