import type { CutView } from '../../../cluster/placement/cut-view.ts';
import type { TrainingLength } from '../../../core/evaluation-points.ts';
import type { RoundPlan } from '../../../core/rounds/plan.ts';
import type { TrainingOptions } from '../training.ts';
import type { Cuts } from './cuts.ts';
import type { RoundHistory } from './history.ts';
import type { LaneService } from './service.ts';
import type { RoundsWatch } from './watch.ts';

/** What training by rounds works with, as its description sees it. */
export interface RoundsState {
  readonly options: TrainingOptions;
  readonly plan: RoundPlan;
  readonly length: TrainingLength;
  /** All rounds of the job. */
  readonly rounds: number;
  /** The round at which training halts, for now or for good. */
  until: number;
  readonly watch: RoundsWatch;
  readonly service: LaneService;
  readonly cuts: Cuts;
  readonly history: RoundHistory;
  /** The cut in the store. */
  readonly stored: CutView;
}
