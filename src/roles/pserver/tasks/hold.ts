/** What a pserver holds once its shards are taken: parameters, ledgers, checkpoints, and the means to serve them. */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { ShardMoment } from '../../../checkpoint/file/capture.ts';
import { readEntry } from '../../../checkpoint/registry/entry.ts';
import { removeOrphans } from '../../../checkpoint/registry/orphans.ts';
import { markOpened } from '../../../checkpoint/registry/publish.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { type HeldLease, retryStore } from '../../../cluster/ownership.ts';
import { type RecoveryView, raiseRecovery } from '../../../cluster/placement/recovery.ts';
import { createShardLedgers } from '../../../core/shard/ledgers.ts';
import type { Fence } from '../../../store/fence.ts';
import { storeWaitLogger } from '../../../store/retry-until-answered.ts';
import type { ParameterMemoryStats, Parameters } from '../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';
import { createParameters } from '../../../tensor/wasm-parameters.ts';
import { adoptParting } from '../files/adopt-parting.ts';
import { type Checkpointing, createCheckpointing } from '../files/checkpointing.ts';
import { createSnapshots, type Snapshots } from '../files/snapshots.ts';
import type { PserverMetrics } from '../metrics.ts';
import { readPlannedHeads, type TakenShards, takeShards } from '../own-shards.ts';
import { createScanner } from '../scan.ts';
import type { Serving } from '../serve.ts';
import { type FilledShards, type LoadedShards, loadShards } from './load.ts';
import { createStaleness, type StalenessCounts } from './staleness.ts';

export interface HoldOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly spec: ParameterSpec;
  readonly index: number;
  readonly fence: Fence;
  readonly lease: HeldLease;
  readonly folder: string;
  readonly metrics: PserverMetrics;
  readonly recoveries: RecoveryView;
  /** Ends the process: the ownership is gone while saving, or a bug. */
  readonly onEnd: (error: unknown) => void;
}

export interface Holding {
  /** Undefined while the shards are set back to a cut. */
  readonly serving: Serving | undefined;
  readonly snapshots: Pick<Snapshots, 'part'>;
  readonly checkpointing: Pick<Checkpointing, 'last' | 'stop'>;
  /** Takes no more pushes. */
  freeze(): void;
  stats(): ParameterMemoryStats & { shards: number };
  info(): Record<string, unknown>;
}

export async function holdShards(options: HoldOptions): Promise<Holding> {
  const { context, record, spec, index, fence, folder } = options;
  const { cluster, training, optimizer } = record.job;
  const { shards, pservers } = cluster;
  const me = { index, token: fence.token.toString() };
  const heads = await readPlannedHeads(context, { index, pservers, shards });
  const parameters = createParameters({ spec, optimizer, seed: training.seed, shards });
  const expected = { jobId: record.id, parameters: spec, optimizer, seed: training.seed, shards };
  const loaded = await loadShards({
    context,
    me,
    heads,
    folder,
    expected,
    into: parameters,
    warmStart: record.warmStart,
  });
  failPoint('pserver.loaded');
  // Before anybody can be answered from these shards, everybody can know that acknowledgements are gone.
  const recovery = loaded.exact ? 0 : await raiseRecovery(context, fence);
  failPoint('pserver.recovery-raised');
  const { keep } = record.job.checkpoint;
  for (const snapshot of loaded.partings) await adoptParting({ context, fence, index, folder, keep }, snapshot);
  const taken = await takeShards(context, fence, me, heads);
  await sweep(options, loaded.files);
  const held = heads.map(({ shard }) => shard);
  context.host.log.info(`serving ${held.length} shards as index ${index}`, { from: loaded.source });
  return assemble(options, { parameters, loaded, taken, held, raised: recovery });
}

interface Parts {
  readonly parameters: Parameters;
  readonly loaded: FilledShards;
  readonly taken: TakenShards;
  readonly held: readonly number[];
  /** The recovery number that this load raised, or 0. */
  readonly raised: number;
}

function assemble(options: HoldOptions, parts: Parts): Holding {
  const { context, record, spec, lease, metrics } = options;
  const { parameters, loaded, taken, held } = parts;
  const { training, cluster } = record.job;
  const ledger = createShardLedgers(record.train.tasks, held, loaded.ledgers);
  const seqs = new Float64Array(cluster.shards);
  for (const [shard, seq] of loaded.seqs) seqs[shard] = seq;
  let updates = held.reduce((most, shard) => Math.max(most, seqs[shard]!), 0);
  let frozen = false;
  const recovery = (): number => Math.max(parts.raised, options.recoveries.current()?.number ?? 0);
  const momentOf = (shard: number): ShardMoment => {
    return { shard, epoch: taken.epochs.get(shard) ?? 0, seq: seqs[shard]!, ledger: ledger.encode(shard) };
  };
  const snapshots = createSnapshots({ ...options, parameters, momentOf, recovery });
  const checkpointing = createCheckpointing({
    ...context.host,
    when: record.job.checkpoint,
    snapshots,
    start: { passes: ledger.watermark(), batches: updates * training.pushEvery },
    onEnd: options.onEnd,
  });
  const staleness = createStaleness({
    ...context.host,
    rule: training.staleness,
    patienceMs: cluster.leaseTtlMs,
    version: () => updates,
    metrics,
  });
  const stats = () => ({ ...parameters.stats(), shards: held.length });
  const serving: Serving = {
    jobId: record.id,
    batchPlanId: record.batchPlanId,
    spec,
    shards: cluster.shards,
    held,
    tasks: record.train.tasks,
    passes: training.passes,
    parameters,
    ledger,
    stamp: taken.stamp,
    recovery,
    metrics,
    staleness,
    isHeld: () => lease.isHeld(),
    isFrozen: () => frozen,
    checkpoint: (final) => {
      if (!final) return checkpointing.request();
      frozen = true;
      return checkpointing.last();
    },
    scanner: createScanner(parameters),
    open: opener(options, loaded),
    rounds: undefined,
    applied: (shards) => {
      for (const shard of shards ?? held) seqs[shard]! += 1;
      updates += 1;
      checkpointing.progressed(ledger.watermark(), updates * training.pushEvery);
    },
  };
  return {
    serving,
    snapshots,
    checkpointing,
    freeze: () => {
      staleness.close();
      frozen = true;
    },
    stats,
    info: () => ({
      index: options.index,
      ...stats(),
      placement: taken.stamp,
      updates,
      recovery: recovery(),
      repairing: ledger.groups() > 1,
      held: lease.isHeld(),
      account: ledger.account(),
      duplicatePushes: metrics.duplicatePushes(),
      staleness: shownStaleness(staleness.counts()),
      ...(loaded.warm.length === 0 ? {} : { warmStart: loaded.warm }),
    }),
  };
}

function shownStaleness({ counted, sum, max, refused }: StalenessCounts) {
  return { mean: counted === 0 ? 0 : Math.round((100 * sum) / counted) / 100, max, refused };
}

/** From the first push on, the file that was loaded is no longer the last state: that is noted before it is applied. */
export function opener(
  { context, fence, index, onEnd }: Pick<HoldOptions, 'context' | 'fence' | 'index' | 'onEnd'>,
  loaded: Pick<LoadedShards, 'fromClean'>,
): Serving['open'] {
  const { store, keys, host } = context;
  let opened = !loaded.fromClean;
  let opening: Promise<void> | undefined;
  return () => {
    if (opened) return undefined;
    opening ??= markOpened({
      store,
      clock: host.clock,
      onWaiting: storeWaitLogger({ ...host, store }),
      fence,
      key: keys.checkpoint(index),
    }).then(
      () => {
        failPoint('pserver.opened');
        opened = true;
      },
      (error: unknown) => {
        onEnd(error);
        // Ours to die of; the trainer finds the index with its next owner.
        if (isPaddletError(error)) throw new PaddletError('Suspended', error.message, { cause: error });
        throw error;
      },
    );
    return opening;
  };
}

/** Files that a crash left in this index's folder. */
export async function sweep(
  { context, record, index, fence, folder }: Omit<HoldOptions, 'recoveries'>,
  loaded: readonly string[],
): Promise<void> {
  const { store, keys, host } = context;
  const { entry } = await retryStore(context, () => readEntry(store, keys.checkpoint(index)));
  // A parting snapshot of sync mode is not in the entry, and all there is until the next checkpoint.
  const published = new Set<string>(loaded);
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
