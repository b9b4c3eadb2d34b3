/** What a master that has the lock works with, as its answers and its description see it. */
import type { Clock } from '../../base/seams.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { Signal } from '../../cluster/waiting.ts';
import type { Evaluations } from './best/evaluations.ts';
import type { Dataset } from './dataset.ts';
import type { EvaluationResults } from './evaluation.ts';
import type { Failures } from './failures.ts';
import type { LaneTraining } from './rounds/training.ts';
import type { Saves } from './saves.ts';
import type { TableSamples } from './table-samples.ts';
import type { TaskService } from './tasks/service.ts';
import type { TaskTraining } from './tasks/training.ts';
import type { LiveTrainers } from './trainers.ts';
import type { TrainerEvent } from './training.ts';

export interface Evaluation {
  readonly service: TaskService;
  readonly dataset: Dataset;
  readonly results: EvaluationResults;
}

export interface MasterState {
  readonly record: JobRecord;
  readonly trainers: LiveTrainers;
  readonly failures: Failures;
  readonly training: TaskTraining | LaneTraining;
  readonly samples: TableSamples;
  /** Present for jobs whose model is written after each pass. */
  readonly saves: Saves | undefined;
  /** Present for jobs that are evaluated while they train. */
  readonly evaluations: Evaluations | undefined;
  /** Present while the test file is being evaluated, after the last pass. */
  evaluation: Evaluation | undefined;
  /** The result is in the store: trainers that ask for work may leave. */
  isFinished: boolean;
  /** Notified when any of this changes. */
  readonly changed: Signal;
  readonly isHeld: () => boolean;
  readonly clock: Clock;
}

type Told = Pick<MasterState, 'training' | 'evaluation' | 'saves'>;

/** Everything that hands out work hears which trainers come and go. */
export function tellAll({ training, evaluation, saves }: Told, event: TrainerEvent): void {
  training.tell(event);
  evaluation?.service.tell(event);
  saves?.tell(event);
}

/** Why there is nothing to do, for people. */
export const waitReason = ({ training, evaluations, evaluation }: MasterState): string =>
  training.waitReason() ??
  evaluations?.waitReason() ??
  (evaluation === undefined ? 'the job is being concluded' : 'the test file is being evaluated');
