/** The contract of the task queue: what goes into `step` and what comes out (see ../README.md). */
import type { ErrorCode } from '../../base/errors.ts';
import type { Addressing, AttemptRef, TaskAddress } from './address.ts';
import type { DiscardedTask, PassTotals, QueueChange, TaskSums } from './state.ts';

export interface QueueConfig {
  readonly addressing: Addressing;
  /** Records of each task, bad ones included; its length is the number of tasks in a pass. */
  readonly taskRecords: Uint32Array;
  /** File, chunk and record range of a task, for reports. */
  readonly describeTask: (task: number) => string;
  readonly passes: number;
  /** Passes after which it ends for now, if that is before the last one: until an event `goOn`. */
  readonly until?: number | undefined;
  readonly seed: number;
  /** A task that fails more often is discarded. */
  readonly maxFailures: number;
  /** More discarded tasks fail the job. */
  readonly maxDiscarded: number;
  /**
   * Maximum duration of work on one task; `auto` is three times the longest completed one, and never below the floor.
   */
  readonly timeoutMs: number | 'auto';
  readonly timeoutFloorMs: number;
  /** With fewer live trainers no task is handed out. */
  readonly minTrainers: number;
  /** More stand by. */
  readonly maxTrainers: number;
}

/** What a trainer is doing with the task that it executes. */
export type Phase = 'start' | 'read' | 'pull' | 'compute' | 'push' | 'wait' | 'idle';

/** `request` is the shell's own number for the answer it owes. */
export type QueueEvent =
  /** All live trainers, when the master starts and when its watch was interrupted: attempts of others end. */
  | { readonly type: 'roster'; readonly trainers: readonly string[] }
  | { readonly type: 'joined'; readonly trainer: string }
  | { readonly type: 'gone'; readonly trainer: string }
  /**
   * `held`: attempts that the trainer knows of, those of other queues included. Others that it has in this queue were
   * lost on the way to it, and are returned. It waits for one task, and takes up to `most` that are there then.
   */
  | {
      readonly type: 'get';
      readonly trainer: string;
      readonly held: readonly TaskAddress[];
      readonly most: number;
      readonly request: number;
    }
  | { readonly type: 'cancel'; readonly request: number }
  | ({ readonly type: 'finish'; readonly sums: TaskSums; readonly request: number } & AttemptRef)
  | ({
      readonly type: 'fail';
      readonly code: string;
      readonly error: string;
      readonly hint?: string | undefined;
      /** The records are at fault: counts as a failure however far the task came. */
      readonly data: boolean;
      readonly read: number;
      readonly request: number;
    } & AttemptRef)
  | ({ readonly type: 'return'; readonly read: number; readonly request: number } & AttemptRef)
  /** `executing` may be of another queue: then no attempt of this one is executed. */
  | {
      readonly type: 'progress';
      readonly trainer: string;
      readonly executing: (TaskAddress & { readonly position: number }) | undefined;
      readonly phase: Phase;
    }
  | { readonly type: 'tick' }
  /** Up to `until` passes may be trained, at least as many as before. */
  | { readonly type: 'goOn'; readonly until: number }
  /** The master was suspended until now: that time counts against no trainer. */
  | { readonly type: 'resumed' };

export type QueueEffect =
  /** First, if at all. Every effect after it rests on it: it is carried out when the changes are saved. */
  | { readonly type: 'save'; readonly changes: readonly QueueChange[] }
  /** One for each task; all of one request come in one step. */
  | { readonly type: 'deal'; readonly request: number; readonly attempt: AttemptRef }
  /** There will be no task for this request: the queue has ended. */
  | { readonly type: 'none'; readonly request: number }
  | { readonly type: 'accept'; readonly request: number }
  | { readonly type: 'refuse'; readonly request: number; readonly code: ErrorCode; readonly message: string }
  /** `trainer` gets a copy of a task because `slow` takes too long. */
  | {
      readonly type: 'speculated';
      readonly pass: number;
      readonly task: number;
      readonly slow: string;
      readonly trainer: string;
    }
  | { readonly type: 'requeued'; readonly pass: number; readonly task: number; readonly why: string }
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
  /** Trainers that must join before a task is handed out. */
  readonly missingTrainers: number;
  /** Copies handed out by this master. */
  readonly speculations: number;
}

export interface LiveAttempt extends AttemptRef {
  readonly phase: Phase;
  readonly position: number;
  readonly executing: boolean;
  readonly ranMs: number;
  /** When it was handed out or started, on the clock of `step`. */
  readonly since: number;
}

export interface TaskQueue {
  step(event: QueueEvent, now: number): QueueEffect[];
  /** When `tick` is due next, on the clock of `now`, or earlier; undefined while nothing can time out. */
  nextDeadline(): number | undefined;
  counts(): QueueCounts;
  /** Passes that may be trained. */
  until(): number;
  /** Totals of each ended pass, and the sums so far of the current one. */
  totals(): { readonly ended: readonly PassTotals[]; readonly current: TaskSums };
  /** Whether a task of the `train` queue was done, not discarded, in a pass up to the current one. */
  isDone(pass: number, task: number): boolean;
  isLive(ref: AttemptRef): boolean;
  /** Age from which an attempt counts as slow; undefined while too little is known. */
  stragglerMs(): number | undefined;
  discarded(): readonly DiscardedTask[];
  attempts(): readonly LiveAttempt[];
}
