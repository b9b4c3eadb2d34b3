import type { RecoveryView } from '../../../cluster/placement/recovery.ts';
import type { TrainingOptions } from '../training.ts';
import type { Repairs } from './repairs.ts';
import type { TaskService } from './service.ts';

/** What training by tasks works with, as its description sees it. */
export interface TasksState {
  readonly options: TrainingOptions;
  readonly service: TaskService;
  readonly repairs: Repairs;
  readonly recoveries: RecoveryView;
  /** Live trainers. */
  readonly live: ReadonlySet<string>;
}
