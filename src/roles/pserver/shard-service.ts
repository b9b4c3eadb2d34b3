/** The service of a pserver: it takes units of shards, serves them and saves them. Each mode implements it. */
import type { RoleContext } from '../../cluster/context.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { HeldLease } from '../../cluster/ownership.ts';
import type { MasterSecret } from '../../cluster/placement/master-secret.ts';
import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import type { UnitBytes } from '../../cluster/placement/pserver-record.ts';
import type { PserverRecords } from '../../cluster/placement/pserver-records.ts';
import type { TableReport } from '../../protocol/messages/table-report.ts';
import type { Fence } from '../../store/fence.ts';
import type { TrainedSpec } from '../../tensor/optimizer.ts';
import type { ShardsInfo } from '../../view/info.ts';
import type { FileReads } from './files/file-reads.ts';
import type { OwnedStats } from './held/owned-shards.ts';
import type { PserverMetrics } from './metrics.ts';
import type { Serving } from './serving.ts';
import type { OrphanWatch } from './take/orphan-watch.ts';

export interface ShardServiceOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly spec: TrainedSpec;
  readonly index: number;
  /** Fence of the claim of the index. */
  readonly fence: Fence;
  readonly lease: HeldLease;
  /** Folder of the job's checkpoints. */
  readonly folder: string;
  /** Reads of this pserver's files by other pservers. */
  readonly reads: FileReads;
  /** Aborts when the job ends, the index is lost, or this process must end. Then a start is given up. */
  readonly stopSignal: AbortSignal;
  /** Called with what a start waits for, and with undefined when that wait has ended. */
  readonly onWaiting: (what: string | undefined) => void;
  readonly metrics: PserverMetrics;
  readonly master: Pick<MasterSecret, 'check'>;
  readonly view: PlacementView;
  /** A change of the records also notifies the view. */
  readonly records: PserverRecords;
  /** Watches for units that this pserver is to take. */
  readonly orphans: OrphanWatch;
  /** Ends the process because of this error: the index was lost during a save, or there is a bug. */
  readonly onFatal: (error: unknown) => void;
}

export interface ShardService {
  /** Undefined while the shards go back to a cut. */
  readonly serving: Serving | undefined;
  /**
   * Hands over all units to other pservers, while this pserver continues to serve. Returns true once it leads none;
   * false if no pserver can take them, or `signal` aborts first. A request to stop this process must not interrupt it,
   * because that request may be the reason to leave.
   */
  leave(signal: AbortSignal): Promise<boolean>;
  /** From now on, this pserver refuses updates with `Draining`. */
  freeze(): void;
  /**
   * To be called on a clean stop, after `freeze`. Saves the last state. `patienceMs`: how long to keep copies whose
   * primaries have not saved their units. If this pserver becomes the primary of such a unit in this time, it saves the
   * unit, too. Throws like `Snapshots.save`.
   */
  saveLast(patienceMs: number): Promise<unknown>;
  /**
   * Saves a parting snapshot after the index was lost. To be called after `freeze` and `stopSaving`. Throws
   * `CheckpointNotWritten` if the disk refuses it.
   */
  saveParting(): Promise<unknown>;
  /** Starts no further saves. Resolves when no save is running. */
  stopSaving(): Promise<void>;
  stats(): OwnedStats;
  /** Reports the tables with admission, eviction or a bound. */
  tables(): TableReport[];
  /** Returns the sizes of the units that this pserver leads, ascending by unit. */
  unitBytes(): UnitBytes[];
  /** Returns the state of the shards, for `status` and `doctor`. */
  info(): ShardsInfo;
}
