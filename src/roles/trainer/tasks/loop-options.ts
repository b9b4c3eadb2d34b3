/** What a trainer in async mode works with. */
import type { MasterClient } from '../../../cluster/client/master-client.ts';
import type { ParameterClient } from '../../../cluster/client/parameter-client.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { BadRecordFiles } from '../../../data/bad-record-files.ts';
import type { ParsedCache } from '../../../data/parsed/cache.ts';
import type { DataPlace } from '../../../data/place.ts';
import type { ReaderThreads } from '../../../data/readers/reader-threads.ts';
import type { Model } from '../../../model/model.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import type { Activity } from '../activity.ts';
import type { GradientCheck } from '../compute/gradient-check.ts';
import type { RequestTimes } from '../request-times.ts';

export interface TaskLoopOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly id: string;
  readonly model: Model;
  readonly place: DataPlace;
  /** Tasks that were parsed before. */
  readonly cache?: ParsedCache | undefined;
  /** Threads that parse tasks; without them this thread parses all. */
  readonly threads?: ReaderThreads | undefined;
  readonly badRecords: BadRecordFiles;
  readonly master: MasterClient;
  readonly client: ParameterClient;
  readonly router: IdRouter;
  readonly activity: Activity;
  readonly gradientCheck: GradientCheck;
  readonly times: RequestTimes;
  /**
   * Reports to the master now, without waiting: if the task crashes this process, the master knows which task it was.
   */
  readonly report: () => void;
  /** The master wants the model to be saved. Returns false when this trainer cannot save it yet. */
  readonly onSaveWanted: () => boolean;
  /** True when the job has ended: tasks need not be returned. */
  readonly isEnded: () => boolean;
  /** Aborts when the trainer is to end. */
  readonly stopSignal: AbortSignal;
}
