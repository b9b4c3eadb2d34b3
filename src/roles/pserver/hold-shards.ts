/** What a pserver holds once its shards are taken: parameters, ledger, checkpoints, and the means to serve them. */
import type { CheckpointFile } from '../../checkpoint/capture.ts';
import { readEntry } from '../../checkpoint/entry.ts';
import { removeOrphans } from '../../checkpoint/orphans.ts';
import { markOpened } from '../../checkpoint/publish.ts';
import { createLedger } from '../../core/ledger.ts';
import type { Fence } from '../../store/fence.ts';
import type { ParameterMemoryStats } from '../../tensor/parameters.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import { createParameters } from '../../tensor/wasm-parameters.ts';
import type { RoleContext } from '../context.ts';
import type { JobRecord } from '../job-record.ts';
import type { JobWatch } from '../job-watch.ts';
import { type HeldLease, patiently } from '../ownership.ts';
import { loadShards } from './load-shards.ts';
import type { PserverMetrics } from './metrics.ts';
import { readPlannedHeads, takeShards } from './own-shards.ts';
import { createScanner } from './scan.ts';
import type { Serving } from './serve.ts';
import { createSnapshots, type Snapshots } from './snapshots.ts';

export interface HoldOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly spec: ParameterSpec;
  readonly index: number;
  readonly fence: Fence;
  readonly lease: HeldLease;
  readonly folder: string;
  readonly metrics: PserverMetrics;
  readonly watch: JobWatch;
}

export interface Holding {
  readonly serving: Serving;
  readonly snapshots: Snapshots;
  /** Takes no more pushes. */
  freeze(): void;
  stats(): ParameterMemoryStats & { shards: number };
  info(): Record<string, unknown>;
}

export async function holdShards(options: HoldOptions): Promise<Holding> {
  const { context, record, spec, index, fence, lease, folder, metrics } = options;
  const { cluster, training, optimizer } = record.job;
  const { shards, pservers } = cluster;
  const me = { index, token: fence.token.toString() };
  const heads = await readPlannedHeads(context, { index, pservers, shards });
  const parameters = createParameters({ spec, optimizer, seed: training.seed, shards });
  const expected = { jobId: record.id, parameters: spec, optimizer, seed: training.seed, shards };
  const loaded = await loadShards({ context, me, heads, folder, expected, into: parameters });
  const taken = await takeShards(context, fence, me, heads);
  await sweep(options);
  const ledger = createLedger(record.train.tasks, loaded.ledger);
  context.host.log.info(`serving ${heads.length} shards as index ${index}`, { from: loaded.source });

  let frozen = false;
  let seq = loaded.seq;
  const snapshots = createSnapshots({
    context,
    record,
    spec,
    fence,
    index,
    folder,
    parameters,
    ledger,
    epochs: taken.epochs,
    seq: () => seq,
  });
  let final: Promise<CheckpointFile> | undefined;
  const checkpoint = (isFinal: boolean): Promise<CheckpointFile> => {
    if (!isFinal) return snapshots.save(false);
    frozen = true;
    // Asked again when an answer was lost: it is one and the same. What failed is tried anew.
    final ??= snapshots.save(true).catch((error: unknown) => {
      final = undefined;
      throw error;
    });
    return final;
  };
  let opened = loaded.ledger === undefined;
  let opening: Promise<void> | undefined;
  const stats = () => ({ ...parameters.stats(), shards: heads.length });
  const serving: Serving = {
    jobId: record.id,
    cut: record.cut,
    spec,
    shards,
    tasks: record.train.tasks,
    passes: training.passes,
    parameters,
    ledger,
    stamp: taken.stamp,
    metrics,
    isHeld: () => lease.isHeld(),
    isFrozen: () => frozen,
    checkpoint,
    scanner: createScanner(parameters),
    open: () => {
      if (opened) return undefined;
      opening ??= openFile(options).then(() => {
        opened = true;
      });
      return opening;
    },
    applied: () => {
      seq += 1;
    },
  };
  return {
    serving,
    snapshots,
    freeze: () => {
      frozen = true;
    },
    stats,
    info: () => ({
      index,
      ...stats(),
      placement: taken.stamp,
      updates: seq,
      held: lease.isHeld(),
      account: ledger.account(),
      duplicatePushes: metrics.duplicatePushes(),
    }),
  };
}

/** From the first push on, the file that was loaded is no longer the last state. */
async function openFile({ context, fence, index }: HoldOptions): Promise<void> {
  const { store, keys, host } = context;
  await markOpened({ store, clock: host.clock, fence, key: keys.checkpoint(index) });
}

/** Files that a crash left in this index's folder. */
async function sweep({ context, record, index, fence, folder }: HoldOptions): Promise<void> {
  const { store, keys, host } = context;
  const { entry } = await patiently(context, () => readEntry(store, keys.checkpoint(index)));
  const published = new Set<string>();
  if (entry !== undefined) for (const { uuid } of [entry, ...(entry.generations ?? [])]) published.add(uuid);
  const report = await removeOrphans({
    disk: host.disk,
    place: { folder, index },
    jobId: record.id,
    token: fence.token,
    published,
  });
  if (report.removed.length > 0) host.log.info(`removed ${report.removed.length} orphaned checkpoint files`);
}
