/**
 * The passes of a job as the rest of the master sees them: by tasks in async mode (tasks/training.ts), by rounds in
 * sync mode (rounds/training.ts). Hooks, evaluation, saves and the result are the same for both (direct-job.ts).
 */

import type { KeptFile } from '../../checkpoint/registry/kept-key.ts';
import type { PserverGroup } from '../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../cluster/context.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { JobResult, Metrics } from '../../cluster/job/job-result.ts';
import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import type { Reached, TrainingLength } from '../../core/evaluation-points.ts';
import type { EvaluationPoint, History } from '../../core/history.ts';
import type { TablesPoint } from '../../core/table-history.ts';
import type { Model } from '../../model/model.ts';
import type { Fence } from '../../store/fence.ts';
import type { Compare } from '../../store/store.ts';
import type { TrainingInfo } from '../../view/info.ts';
import type { Dataset } from './dataset.ts';

export interface ConcludeOptions {
  /** That were trained: those of the job, or fewer. */
  readonly passes: number;
  /** What evaluations while it trained came to. */
  readonly evaluation: JobResult['evaluation'];
  readonly testMetrics: Metrics | undefined;
  readonly recordsPerSecond: number;
  readonly stopSignal: AbortSignal;
}

/** All that may be trained is done in every shard. */
export interface Trained {
  /** How far training had come. */
  readonly at: Reached;
  /** How often parameters had been restored by then: the recovery number (async mode), the timeline (sync mode). */
  readonly restores: number;
  /** Aborts when that is no longer so: a pserver was restored, or all were set back. */
  readonly overtaken: AbortSignal;
  /** What must hold in the store for the model still to be the one that is concluded. */
  readonly unchanged: Compare;
  /** Has the pservers save what they have; in sync mode they have. Names the files that have all shards. */
  save(signal: AbortSignal): Promise<readonly KeptFile[]>;
  conclude(options: ConcludeOptions): Promise<JobResult>;
  /** Ends the use of `overtaken`. */
  release(): void;
}

export type TrainerEvent =
  | { readonly type: 'roster'; readonly trainers: readonly string[] }
  | { readonly type: 'joined' | 'gone'; readonly trainer: string }
  /** This master was cut off, and heard nothing in that time. */
  | { readonly type: 'resumed' };

export interface Training {
  /** Waits until all is done that may be trained; again after that was overtaken. */
  trained(): Promise<Trained>;
  /** Training may go on to there. */
  goOn(to: Reached): void;
  readonly length: TrainingLength;
  tell(event: TrainerEvent): void;
  /** Passes that have ended. */
  passesEnded(): number;
  /** Records applied so far, for the speed. */
  applied(): Promise<number>;
  /** Why there is nothing to do; undefined when the passes are done. */
  waitReason(): string | undefined;
  /** The current pass, from 0; undefined while it is not known. */
  pass(): number | undefined;
  /** Adds what an evaluation came to to the curves. */
  evaluated(point: EvaluationPoint): Promise<void>;
  /** Adds figures of tables to the history. */
  sampled(point: TablesPoint): Promise<void>;
  /** The curves, once nothing more is trained: as they are saved. */
  history(): History;
  /** The part of `info` about training. */
  describe(): TrainingInfo;
  /** Trainers that wait for work of the passes are to ask again. */
  wake(): void;
  close(): void;
}

/** What a way of training is given. */
export interface TrainingOptions {
  readonly context: RoleContext;
  readonly record: JobRecord;
  readonly dataset: Dataset;
  /** Where it halts until `goOn`. */
  readonly until: (length: TrainingLength) => Reached;
  readonly model: Model;
  readonly fence: Fence;
  readonly group: PserverGroup;
  readonly view: PlacementView;
  /** The job ended, was asked to stop, or this master's work failed. */
  readonly stopSignal: AbortSignal;
  readonly isHeld: () => boolean;
  readonly onPassEnded: (pass: EndedPass) => void;
  /** `passes`: the number of ended passes in all; may be called more than once with it. */
  readonly onPassesEnded: (passes: number) => void;
  /** What trainers wait for has changed. */
  readonly onChanged: () => void;
  readonly onFatal: (error: unknown) => void;
}

export interface EndedPass {
  /** Number of the pass, counted from 0. */
  readonly pass: number;
  /** Mean over its records; undefined when there are none, or the sums are lost. */
  readonly loss: number | undefined;
  readonly records: number | undefined;
  readonly facts: Record<string, unknown>;
}

/** For work of its own: its errors are fatal as long as this master's work has not been stopped. */
export const ignoreAfter =
  (stopSignal: AbortSignal, onFatal: (error: unknown) => void) =>
  (error: unknown): void => {
    if (!stopSignal.aborted) onFatal(error);
  };
