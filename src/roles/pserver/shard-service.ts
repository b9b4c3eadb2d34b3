/** What a pserver does with units of shards: takes them, serves them and saves them. Each mode implements it. */
import type { RoleContext } from '../../cluster/context.ts';
import type { ShardsInfo } from '../../cluster/info.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { HeldLease } from '../../cluster/ownership.ts';
import type { MasterSecret } from '../../cluster/placement/master-secret.ts';
import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import type { UnitBytes } from '../../cluster/placement/pserver-record.ts';
import type { PserverRecords } from '../../cluster/placement/pserver-records.ts';
import type { Fence } from '../../store/fence.ts';
import type { TrainedSpec } from '../../tensor/optimizer.ts';
import type { ParameterMemoryStats } from '../../tensor/parameters.ts';
import type { FileReads } from './files/file-reads.ts';
import type { PserverMetrics } from './metrics.ts';
import type { Serving } from './serving.ts';
import type { OrphanWatch } from './take/orphan-watch.ts';

export interface ShardServiceOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly spec: TrainedSpec;
  readonly index: number;
  /** Of the claim of the index. */
  readonly fence: Fence;
  readonly lease: HeldLease;
  /** Of checkpoints. */
  readonly folder: string;
  /** Of this pserver's files, by others. */
  readonly reads: FileReads;
  /** Aborts when the job has ended, the index is lost, or this process is to stop: a start is given up. */
  readonly stopSignal: AbortSignal;
  /** Told what a start waits for, and undefined afterwards. */
  readonly onWaiting: (what: string | undefined) => void;
  readonly metrics: PserverMetrics;
  readonly master: Pick<MasterSecret, 'check'>;
  readonly view: PlacementView;
  /** A change of them notifies the view. */
  readonly records: PserverRecords;
  /** Units that this pserver is to take. */
  readonly orphans: OrphanWatch;
  /** Ends the process: the index was lost while saving, or a bug. */
  readonly onFatal: (error: unknown) => void;
}

export interface ShardService {
  /** Undefined while the shards go back to a cut. */
  readonly serving: Serving | undefined;
  /**
   * While it serves: hands over all units to other pservers. True when it leads none; false when no pserver can take
   * them in time. Must not wait for this process's own request to stop, which may be why it leaves.
   */
  leave(signal: AbortSignal): Promise<boolean>;
  /** From now on updates are refused with `Draining`. */
  freeze(): void;
  /**
   * On a clean stop, after `freeze`: saves the last state. `patienceMs`: how long copies are kept whose primaries have
   * not saved their units; what this process leads in that time is saved as well. Throws like `Snapshots.save`.
   */
  saveLast(patienceMs: number): Promise<unknown>;
  /** After the index was lost, after `freeze` and `stopSaving`. Throws `CheckpointNotWritten`. */
  saveParting(): Promise<unknown>;
  /** No more saves begin; resolves when none is running. */
  stopSaving(): Promise<void>;
  stats(): ParameterMemoryStats & { readonly units: number; readonly shards: number };
  /** Of the units that it leads, ascending. */
  unitBytes(): UnitBytes[];
  /** For `status` and `doctor`. */
  info(): ShardsInfo;
}
