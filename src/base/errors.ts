/**
 * Every error that can happen in operation, by code. A bug is not in this table: it is an ordinary exception and
 * crashes loudly with exit code 1.
 *
 * `action` tells a caller what to do with it:
 *  - `retry`   the same request may succeed later, unchanged;
 *  - `refresh` the caller's view (placement, address, position) is outdated: read it again, then retry;
 *  - `fatal`   retrying cannot help.
 */
export type Action = 'retry' | 'refresh' | 'fatal';

/** Documented exit codes of the executable (docs/operations.md). */
export const EXIT = {
  done: 0,
  bug: 1,
  usage: 2,
  data: 3,
  store: 4,
  leaseLost: 5,
  jobFailed: 6,
  parametersLost: 7,
  tasksDiscarded: 8,
  machine: 9,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

interface CodeFacts {
  readonly action: Action;
  readonly exit: ExitCode;
}

const fact = (action: Action, exit: ExitCode): CodeFacts => ({ action, exit });

export const CODES = {
  // Usage and job file
  Usage: fact('fatal', EXIT.usage),
  JobInvalid: fact('fatal', EXIT.usage),
  JobConflict: fact('fatal', EXIT.usage),
  JobUnknown: fact('fatal', EXIT.usage),
  PortInUse: fact('fatal', EXIT.usage),
  IndexTaken: fact('fatal', EXIT.usage),
  /** A peer, a store or a file has another version than this executable. */
  VersionMismatch: fact('fatal', EXIT.usage),
  // Data
  DataMissing: fact('fatal', EXIT.data),
  DataInvalid: fact('fatal', EXIT.data),
  DataChanged: fact('fatal', EXIT.data),
  DataCacheFailed: fact('fatal', EXIT.data),
  TooManyBadRecords: fact('fatal', EXIT.data),
  // Store
  StoreUnavailable: fact('retry', EXIT.store),
  StoreUnknownOutcome: fact('refresh', EXIT.store),
  StoreLimit: fact('fatal', EXIT.store),
  StoreCompacted: fact('refresh', EXIT.store),
  StoreReplaced: fact('fatal', EXIT.store),
  StoreInvalid: fact('fatal', EXIT.store),
  StoreValueInvalid: fact('fatal', EXIT.store),
  LeaseGone: fact('fatal', EXIT.leaseLost),
  /** The job was restored to another number of pservers since this process read it: start again. */
  /** The job was removed, started over or continued since this process read it: start again. */
  JobChanged: fact('refresh', EXIT.leaseLost),
  // Wire
  BadFrame: fact('fatal', EXIT.jobFailed),
  BadMessage: fact('fatal', EXIT.jobFailed),
  FrameTooLarge: fact('fatal', EXIT.jobFailed),
  ConnectionLost: fact('retry', EXIT.jobFailed),
  RequestTimeout: fact('retry', EXIT.jobFailed),
  Overloaded: fact('retry', EXIT.jobFailed),
  /** The peer does not know the join token: read it again, or the address is old. */
  JoinRefused: fact('refresh', EXIT.jobFailed),
  // Roles
  WrongJob: fact('fatal', EXIT.jobFailed),
  WrongBatchPlan: fact('fatal', EXIT.jobFailed),
  WrongRole: fact('refresh', EXIT.jobFailed),
  NotReady: fact('retry', EXIT.jobFailed),
  Suspended: fact('retry', EXIT.jobFailed),
  Draining: fact('refresh', EXIT.jobFailed),
  StalePlacement: fact('refresh', EXIT.jobFailed),
  WrongShard: fact('refresh', EXIT.jobFailed),
  UnknownParameter: fact('fatal', EXIT.jobFailed),
  /** Acknowledgements from before a pserver was restored: ask for positions again. */
  StaleRecovery: fact('refresh', EXIT.jobFailed),
  PushOutOfOrder: fact('refresh', EXIT.jobFailed),
  /** Not all copies of a unit could take the update, and it was dropped there: send it again. */
  ReplicaFailed: fact('retry', EXIT.jobFailed),
  /** A request that only the master may make, with another secret than that of the master in the store. */
  NotMaster: fact('refresh', EXIT.jobFailed),
  /** Counts of records that contradict the batch plan or one another, or an account that does not add up. */
  WrongCounts: fact('fatal', EXIT.jobFailed),
  /** The gradient was computed from values older than the job's bound: pull again and recompute it. */
  TooStale: fact('refresh', EXIT.jobFailed),
  /** Sync mode: the pserver has not reached the version yet; `details` say which lanes it waits for. */
  VersionPending: fact('retry', EXIT.jobFailed),
  /** Sync mode: the version is past and was not kept: drop the lane and ask for the current round. */
  VersionGone: fact('refresh', EXIT.jobFailed),
  /** Sync mode: a lane of a round that this pserver has not reached: it was set back or restarted. */
  RoundAhead: fact('refresh', EXIT.jobFailed),
  /** Sync mode: all pservers were set back to a cut since then, or this one does not know of it yet. */
  StaleTimeline: fact('refresh', EXIT.jobFailed),
  /** Sync mode: a lane cannot be computed, however often it is tried. */
  LaneFailed: fact('fatal', EXIT.jobFailed),
  BadGradient: fact('fatal', EXIT.jobFailed),
  /** Scores are NaN or infinite: so are parameters, or they overflow when they are multiplied. */
  ModelNotFinite: fact('fatal', EXIT.jobFailed),
  AttemptNotLive: fact('refresh', EXIT.jobFailed),
  PassBefore: fact('refresh', EXIT.jobFailed),
  PassAfter: fact('refresh', EXIT.jobFailed),
  OutOfMemory: fact('fatal', EXIT.jobFailed),
  TaskDiscarded: fact('fatal', EXIT.tasksDiscarded),
  /** A command of the job before its first or after its last pass. */
  HookFailed: fact('fatal', EXIT.jobFailed),
  EvaluationFailed: fact('fatal', EXIT.jobFailed),
  ModelNotSaved: fact('fatal', EXIT.jobFailed),
  JobFailed: fact('fatal', EXIT.jobFailed),
  // Checkpoints
  CheckpointMissing: fact('fatal', EXIT.parametersLost),
  CheckpointCorrupt: fact('fatal', EXIT.parametersLost),
  /** The disk refused the write: full, read-only, failing. What was published before is still valid. */
  CheckpointNotWritten: fact('retry', EXIT.parametersLost),
  // Machine
  /** The operating system refused a file, a folder or a process: permissions, a full disk, too many open files. */
  SystemRefused: fact('fatal', EXIT.machine),
  /** The command has succeeded, but what it printed did not arrive. */
  OutputFailed: fact('fatal', EXIT.machine),
  Interrupted: fact('fatal', EXIT.interrupted),
  // A bug in the other process, which logged the stack.
  Internal: fact('fatal', EXIT.bug),
} as const satisfies Record<string, CodeFacts>;

export type ErrorCode = keyof typeof CODES;

/** An expected failure: a code to act on, a message that says what and where, a hint that says what to do next. */
export class PaddletError extends Error {
  override readonly name = 'PaddletError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  /** Facts a program may act on (for example the position wanted); JSON-safe. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string; details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.details = options.details ?? {};
  }

  get action(): Action {
    return CODES[this.code].action;
  }

  get exitCode(): ExitCode {
    return CODES[this.code].exit;
  }
}

export const isErrorCode = (value: unknown): value is ErrorCode =>
  typeof value === 'string' && Object.hasOwn(CODES, value);

export const isPaddletError = (error: unknown, ...codes: ErrorCode[]): error is PaddletError =>
  error instanceof PaddletError && (codes.length === 0 || codes.includes(error.code));
