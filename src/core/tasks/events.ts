/** What goes into the task queue and what comes out of it. */
import type { ErrorCode } from '../../base/errors.ts';
import type { DiscardedTask, PassTotals, QueueChange, TaskSums } from './state.ts';

export interface QueueConfig {
  /** Records of each task, bad ones included; its length is the number of tasks in a pass. */
  readonly taskRecords: Uint32Array;
  /** File, chunk and record range of a task, for reports. */
  readonly describeTask: (task: number) => string;
  readonly passes: number;
  readonly seed: number;
  /** A task that fails more often is discarded. */
  readonly maxFailures: number;
  /** More discarded tasks fail the job. */
  readonly maxDiscarded: number;
  /** Of work on one task; `auto` is three times the longest completed, never under the floor. */
  readonly timeoutMs: number | 'auto';
  readonly timeoutFloorMs: number;
  /** With fewer live trainers nothing is dealt. */
  readonly minTrainers: number;
  /** More stand by. */
  readonly maxTrainers: number;
}

export type Phase = 'start' | 'read' | 'pull' | 'compute' | 'push' | 'wait' | 'idle';

export interface AttemptRef {
  readonly trainer: string;
  readonly pass: number;
  readonly task: number;
  readonly attempt: number;
}

/** `request` is the shell's own number for the answer it owes. */
export type QueueEvent =
  /** The live trainers, all of them, when the master starts and when its watch began anew: attempts of others end. */
  | { readonly type: 'roster'; readonly trainers: readonly string[] }
  | { readonly type: 'joined'; readonly trainer: string }
  | { readonly type: 'gone'; readonly trainer: string }
  /** `held`: attempts the trainer knows of; its others were lost on the way and go back. */
  | { readonly type: 'get'; readonly trainer: string; readonly held: readonly AttemptRef[]; readonly request: number }
  | { readonly type: 'cancel'; readonly request: number }
  | ({ readonly type: 'finish'; readonly sums: TaskSums; readonly request: number } & AttemptRef)
  | ({
      readonly type: 'fail';
      readonly code: string;
      readonly error: string;
      /** The records are at fault: counts as a failure however far the task came. */
      readonly data: boolean;
      readonly read: number;
      readonly request: number;
    } & AttemptRef)
  | ({ readonly type: 'return'; readonly read: number; readonly request: number } & AttemptRef)
  | {
      readonly type: 'progress';
      readonly trainer: string;
      readonly executing: { pass: number; task: number; attempt: number; position: number } | undefined;
      readonly phase: Phase;
    }
  | { readonly type: 'tick' }
  /** The master was suspended until now: that time is nobody's. */
  | { readonly type: 'resumed' };

export type QueueEffect =
  | { readonly type: 'save'; readonly changes: readonly QueueChange[] }
  | { readonly type: 'deal'; readonly request: number; readonly attempt: AttemptRef }
  /** There will be no task for this request: the queue has ended. */
  | { readonly type: 'none'; readonly request: number }
  | { readonly type: 'accept'; readonly request: number }
  | { readonly type: 'refuse'; readonly request: number; readonly code: ErrorCode; readonly message: string }
  /** `trainer` gets a copy of a task that `slow` takes too long for. */
  | { readonly type: 'speculated'; readonly task: number; readonly slow: string; readonly trainer: string }
  | { readonly type: 'requeued'; readonly task: number; readonly why: string }
  | { readonly type: 'discarded'; readonly task: DiscardedTask }
  | { readonly type: 'passEnded'; readonly pass: number; readonly totals: PassTotals }
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly discarded: DiscardedTask };

export interface QueueCounts {
  readonly phase: 'train' | 'ended';
  readonly pass: number;
  readonly total: number;
  readonly todo: number;
  readonly pending: number;
  readonly done: number;
  readonly discarded: number;
  readonly waiting: number;
  /** Trainers that must join before anything is dealt. */
  readonly missingTrainers: number;
  /** Copies dealt by this master. */
  readonly speculations: number;
}

export interface LiveAttempt extends AttemptRef {
  readonly phase: Phase;
  readonly position: number;
  readonly executing: boolean;
  readonly ranMs: number;
  /** When it was dealt or begun, on the clock of `step`. */
  readonly since: number;
}

export interface TaskQueue {
  step(event: QueueEvent, now: number): QueueEffect[];
  /** When `tick` is due next, on the clock of `now`, or earlier; undefined while nothing can time out. */
  nextDeadline(): number | undefined;
  counts(): QueueCounts;
  /** Totals of each ended pass, and the sums so far of the current one. */
  totals(): { readonly ended: readonly PassTotals[]; readonly current: TaskSums };
  /** Whether the task was done, not discarded, in a pass up to the current one. */
  isDone(pass: number, task: number): boolean;
  isLive(ref: AttemptRef): boolean;
  /** Age from which an attempt counts as slow; undefined while too little is known. */
  stragglerMs(): number | undefined;
  discarded(): readonly DiscardedTask[];
  attempts(): readonly LiveAttempt[];
}
