import type { PserverGroup } from '../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../cluster/context.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { HeldLease } from '../../cluster/ownership.ts';
import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import type { Signal } from '../../cluster/waiting.ts';
import type { DataPlace } from '../../data/place.ts';
import type { Model } from '../../model/model.ts';
import type { Fence } from '../../store/fence.ts';
import type { ModelKeeper } from './best/model-keeper.ts';
import type { JobData } from './dataset.ts';
import type { HookOptions } from './hooks.ts';
import type { MasterInfoSource } from './info.ts';
import type { MasterState } from './state.ts';

export interface DirectOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly data: JobData;
  /** Where the data is. */
  readonly place: DataPlace;
  readonly checkpointFolder: string;
  readonly fence: Fence;
  /** The secret by which pservers recognize this master. */
  readonly secret: string;
  readonly lease: HeldLease;
  /** The job ended, was asked to stop, or the lock was lost. */
  readonly stopSignal: AbortSignal;
  readonly info: MasterInfoSource;
  readonly hooks: Pick<HookOptions, 'shell' | 'folder'>;
  /** Undefined where models cannot be kept, and no job wants it. */
  readonly keeper: ModelKeeper | undefined;
  readonly show: (state: MasterState) => void;
}

/** What one master's work on a job needs. `stopSignal` aborts when the work has failed, too. */
export interface JobWork extends DirectOptions {
  readonly group: PserverGroup;
  readonly view: PlacementView;
  readonly model: Model;
  readonly onFatal: (error: unknown) => void;
  /** Notified when anything changes that trainers wait for. */
  readonly changed: Signal;
}
