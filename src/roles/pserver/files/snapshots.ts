/** Writes and publishes this pserver's checkpoints, and its parting snapshot after it has lost its index. */

import { pause } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { Clock } from '../../../base/seams.ts';
import type { Capturable, ShardMoment } from '../../../checkpoint/file/capture.ts';
import type { CheckpointMeta, RoundsMeta } from '../../../checkpoint/file/format.ts';
import { indexFolder } from '../../../checkpoint/file/paths.ts';
import type { Pace } from '../../../checkpoint/file/safetensors/writer.ts';
import { type CheckpointFile, writeCheckpointFile } from '../../../checkpoint/file/write-durable-file.ts';
import { type Generation, generationOf } from '../../../checkpoint/registry/entry.ts';
import { publishParting } from '../../../checkpoint/registry/publish.ts';
import { type Saved, saveCheckpoint } from '../../../checkpoint/registry/save.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import { carriedRecord } from '../../../cluster/job/carried-record.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { type DeltaChain, type DeltaRules, isDeltaNext, withLink } from '../../../core/delta-chain.ts';
import type { SaveMode } from '../../../protocol/messages/to-pserver.ts';
import type { Fence } from '../../../store/fence.ts';
import { storeWaitLogger } from '../../../store/retry-until-answered.ts';
import type { TrainedSpec } from '../../../tensor/optimizer.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { PserverMetrics, WorkTimes } from '../metrics.ts';
import { DeltaParents } from './delta-parents.ts';
import { DiskTrouble } from './disk-trouble.ts';
import type { FileReads } from './file-reads.ts';
import { restingFiles } from './resting-files.ts';

export interface SnapshotOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly spec: TrainedSpec;
  readonly fence: Fence;
  readonly index: number;
  readonly folder: string;
  readonly shards: OwnedShards;
  readonly recovery: () => number;
  /** This pserver has loaded files from the folder, so it must not create the folder again if it is missing. */
  readonly isFolderKnown: boolean;
  /** Reads of this pserver's files by other pservers. */
  readonly reads: Pick<FileReads, 'inProgress'>;
  readonly metrics: Pick<PserverMetrics, 'times' | 'saves'>;
  /** In sync mode only. */
  readonly timeline?: number;
}

/**
 * `due`: a base or a delta, whichever is due (core/delta-chain.ts). `delta`: a delta, if there is a file to build on.
 * `last`: a base, after which this pserver applies no update.
 */
export type SaveKind = SaveMode | 'due' | 'last';

/** The shards as they were at one instant, for a file that is written while this pserver applies later updates. */
export interface SnapshotSource {
  readonly parameters: Capturable;
  readonly shards: readonly number[];
  readonly momentOf: (shard: number) => ShardMoment;
  /** If `parameters` are a view: what `beginView` of `DeltaParents` returned. */
  readonly mark?: number | undefined;
  /** In sync mode: the rounds of all these shards. */
  readonly rounds: RoundsMeta;
}

/** Shards for one file of a parting snapshot. */
export interface PartingSource {
  readonly shards: readonly number[];
  /** Positions of shards that other pservers lead. `OwnedShards` has the positions of the owned shards. */
  readonly copies?: ReadonlyMap<number, ShardMoment>;
  /** In sync mode: the rounds of all these shards. */
  readonly rounds?: RoundsMeta;
}

/** Only the length of a chain is limited. */
const ANY_DELTA: DeltaRules = { baseIntervalMs: Number.POSITIVE_INFINITY, maxShare: Number.POSITIVE_INFINITY };

export class Snapshots {
  readonly #options: SnapshotOptions;
  readonly #unlimited = new AbortController();
  readonly #abandoned = new AbortController();
  readonly #trouble: DiskTrouble;
  /** Undefined if the job saves no deltas. */
  readonly parents: DeltaParents | undefined;
  #chain: DeltaChain | undefined;

  constructor(options: SnapshotOptions) {
    this.#options = options;
    if (options.record.job.checkpoint.delta !== undefined) this.parents = new DeltaParents(options.shards);
    const { context, folder, index, shards, isFolderKnown } = options;
    const expectedBytes = (): number => shards.stats().bytes;
    const trouble = { ...context, folder: indexFolder({ folder, index }), expectedBytes };
    this.#trouble = new DiskTrouble(trouble, isFolderKnown);
  }

  /**
   * Saves the shards and publishes the file under the fence. Throws `LeaseGone` if another process has the index by
   * now, `CheckpointNotWritten` if the disk fails, and `Interrupted` after `abandon`.
   */
  async save(kind: SaveKind, source?: SnapshotSource): Promise<CheckpointFile> {
    const { context, record, fence, folder, shards: owned, reads } = this.#options;
    const { storage, clock, log } = context.host;
    const { keys, store } = context;
    const clean = kind === 'last';
    const shards = source?.shards ?? owned.numbers;
    const momentOf = source?.momentOf ?? ((shard: number) => owned.momentOf(shard));
    const parents = this.#isDelta(kind) ? this.parents!.namesFor(shards) : [];
    const isDelta = parents.length > 0;
    const startedMs = clock.monotonicMs();
    const saving = (): Promise<Saved> =>
      saveCheckpoint({
        storage,
        folder,
        meta: this.#metaOf(clean, source?.rounds, parents),
        parameters: timedCapture(source?.parameters ?? owned.parameters, this.#options.metrics.times),
        shards,
        momentOf: (shard) => this.#captured(momentOf(shard), parents, source?.mark),
        store,
        clock,
        signal: this.#abandoned.signal,
        onWaiting: storeWaitLogger({ clock, log, store }),
        fence,
        keys,
        keep: record.job.checkpoint.keep,
        readStaying: async () => new Set([...(await restingFiles(context)), ...reads.inProgress()]),
        ...(context.extentBytes === undefined ? {} : { extentBytes: context.extentBytes }),
        rest: () => new Promise((resolve) => void clock.after(0, resolve)),
        ...this.#paceOf(clean),
        ...this.#folderState(),
      });
    const saved = await this.#trouble
      .save(isDelta ? 'delta' : 'base', saving, ({ file }) => file)
      .catch((error: unknown) => {
        // If the outcome is unknown, no file follows but parting files, which are bases.
        this.parents?.refused();
        if (isPaddletError(error, 'CheckpointNotWritten')) {
          this.#options.metrics.saves.failed();
          if (error.details.lacking !== undefined) this.#chain = undefined;
        }
        throw error;
      });
    this.#published(saved.file, isDelta);
    if (saved.complaint !== undefined) log.warn(saved.complaint);
    for (const { path, error } of saved.undeleted) {
      log.warn(`${path} could not be deleted: ${(error as Error).message}`);
    }
    const { uuid, bytes, rows } = saved.file;
    const tookMs = Math.round(clock.monotonicMs() - startedMs);
    this.#options.metrics.saves.saved({ tookMs, bytes, isDelta, deltas: this.#chain?.deltas ?? 0 });
    log.info(`${isDelta ? 'delta' : 'checkpoint'} ${uuid} published`, { bytes, rows, clean, tookMs });
    return saved.file;
  }

  #isDelta(kind: SaveKind): boolean {
    const { context, record } = this.#options;
    const { delta, intervalMs } = record.job.checkpoint;
    if (delta === undefined || kind === 'base' || kind === 'last') return false;
    const baseIntervalMs = intervalMs === 'off' ? Number.POSITIVE_INFINITY : intervalMs;
    const rules = kind === 'due' ? { baseIntervalMs, maxShare: delta.maxShare } : ANY_DELTA;
    return isDeltaNext(this.#chain, rules, context.host.clock.monotonicMs());
  }

  #captured(moment: ShardMoment, parents: readonly string[], mark: number | undefined): ShardMoment {
    return this.parents === undefined ? moment : this.parents.capture(moment, parents, mark);
  }

  #published({ uuid, bytes, positions }: CheckpointFile, isDelta: boolean): void {
    this.parents?.published(uuid, positions);
    this.#chain = withLink(this.#chain, { isDelta, bytes }, this.#options.context.host.clock.monotonicMs());
  }

  /**
   * Saves a parting snapshot after the lease is lost: clean files under this owner's token, for the next owner of its
   * shards. The snapshot needs no fence: it is the last state only while the heads of the shards still name this token.
   */
  async saveParting(sources: readonly [PartingSource, ...PartingSource[]]): Promise<void> {
    const { context, fence, index } = this.#options;
    const { clock, log } = context.host;
    const { keys, store } = context;
    const [first, ...others] = sources;
    const files: [Generation, ...Generation[]] = [await this.#writeParting(first)];
    for (const source of others) files.push(await this.#writeParting(source));
    const onWaiting = storeWaitLogger({ clock, log, store });
    await publishParting({ store, clock, onWaiting, key: keys.parting(fence.token), index, files });
    failPoint('checkpoint.parted');
    for (const { uuid, bytes } of files) log.info(`parting snapshot ${uuid} announced`, { bytes });
  }

  async #writeParting({ shards, copies, rounds }: PartingSource): Promise<Generation> {
    const { context, folder, shards: owned, metrics } = this.#options;
    const { storage } = context.host;
    const meta = this.#metaOf(true, rounds, []);
    const parameters = timedCapture(owned.parameters, metrics.times);
    const writing = (): Promise<CheckpointFile> =>
      writeCheckpointFile({
        ...{ storage, folder, meta, parameters, shards, ...this.#folderState() },
        momentOf: (shard) => copies?.get(shard) ?? owned.momentOf(shard),
      });
    return generationOf(await this.#trouble.save('base', writing, (written) => written), meta);
  }

  /** This pserver has now loaded files from the folder. */
  folderSeen(): void {
    this.#trouble.folderSeen();
  }

  /** Ends the limit `maxBytesPerSecond` for all saves, because the process waits for a save in order to stop. */
  endRateLimit(): void {
    this.#unlimited.abort();
  }

  /** Gives up the running save: if it waits for the store, it ends with `Interrupted`. */
  abandon(): void {
    this.#unlimited.abort();
    this.#abandoned.abort();
  }

  #folderState() {
    return {
      isFolderKnown: this.#trouble.isFolderKnown,
      onUnfinished: (bytes: number) => this.#trouble.unfinished(bytes),
    };
  }

  /** A clean save has no rate limit, so that the shutdown is fast. */
  #paceOf(clean: boolean) {
    const { maxBytesPerSecond } = this.#options.record.job.checkpoint;
    if (clean || maxBytesPerSecond === undefined) return {};
    return { pace: createPace(this.#options.context.host.clock, maxBytesPerSecond, this.#unlimited.signal) };
  }

  #metaOf(clean: boolean, rounds: RoundsMeta | undefined, parents: readonly string[]): CheckpointMeta {
    const { context, record, spec, fence, index, recovery, timeline = 0 } = this.#options;
    const { job } = record;
    return {
      uuid: context.host.random.uuid(),
      jobId: record.id,
      jobName: job.name,
      index,
      token: fence.token,
      recovery: BigInt(recovery()),
      timeline: BigInt(timeline),
      ...(rounds === undefined ? {} : { rounds }),
      ...(parents.length === 0 ? { kind: 'full' } : { kind: 'delta', parents }),
      clean,
      createdAt: context.host.clock.wallSeconds(),
      parameters: spec,
      seed: job.training.seed,
      shards: job.cluster.shards,
      job: carriedRecord(record),
    };
  }
}

const timedCapture = (from: Capturable, times: WorkTimes): Capturable => ({
  exportRows: (...rows) => times.during('save', () => from.exportRows(...rows)),
  exportSeen: (...rows) => times.during('save', () => from.exportSeen(...rows)),
  exportBlocks: (shard) => times.during('save', () => from.exportBlocks(shard)),
  stats: (shard) => from.stats(shard),
});

/**
 * Limits a writer to an average of `maxBytesPerSecond`, over everything that it writes. The limit ends when `unlimited`
 * aborts, because this process then waits for the writer in order to stop.
 */
export function createPace(clock: Clock, maxBytesPerSecond: number, unlimited: AbortSignal): Pace {
  const startedMs = clock.monotonicMs();
  let written = 0;
  return async (bytes) => {
    const dueMs = startedMs + (written / maxBytesPerSecond) * 1000;
    written += bytes;
    const earlyMs = dueMs - clock.monotonicMs();
    if (earlyMs > 0) await pause(clock, earlyMs, unlimited);
  };
}
