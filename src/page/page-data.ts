/**
 * What the web page gets (docs/page.md): one JSON object per refresh. Types only: the master makes it, the browser
 * shows it. Times are in seconds since 1970, passes and rounds count from 0.
 */

/** Texts that a role sends to a page. Nothing but `PageProof` goes the other way. */
export type PageMessage =
  /** The first text on a connection: 32 bytes in hexadecimal. */
  | { readonly type: 'challenge'; readonly nonce: string }
  /** The last text on a connection. */
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'data'; readonly data: PageData };

/** HMAC-SHA256, in hexadecimal, that shows that the page has the view token (src/protocol/join/view-token.ts). */
export interface PageProof {
  readonly type: 'proof';
  readonly proof: string;
}

export interface PageData {
  readonly time: number;
  /** Version of paddlet. */
  readonly version: string;
  /** `master`: the master of the job; `ui`: `paddlet ui`, which shows each job of the store. */
  readonly servedBy: 'master' | 'ui';
  /** All jobs of the store, by name. */
  readonly jobs: readonly PageJobLine[];
  /** The job that is shown; undefined while the store has none of that name. */
  readonly job?: PageJob | undefined;
  /** Absent when they are those of the text before. */
  readonly curves?: readonly PageCurve[] | undefined;
  /** Why nothing newer is known; then all else but `time` is of the last look that succeeded, if there was one. */
  readonly problem?: string | undefined;
}

export interface PageJobLine {
  readonly name: string;
  readonly end: 'done' | 'failed' | undefined;
}

export interface PageJob {
  readonly name: string;
  readonly mode: 'async' | 'sync';
  /** The phase, as `paddlet status` names it. */
  readonly phase: 'training' | 'evaluating' | 'concluding' | 'done' | 'failed' | 'stopped' | 'unresponsive' | 'waiting';
  readonly health: 'OK' | 'UNHEALTHY' | 'UNKNOWN';
  /** The cause first; empty when nothing holds the job up. */
  readonly why: readonly { readonly sentence: string; readonly hint?: string | undefined }[];
  readonly progress: PageProgress;
  readonly processes: readonly PageProcess[];
  /** Which process waits for which, both by `key`. */
  readonly waits: readonly { readonly from: string; readonly to: string; readonly what: string }[];
  readonly units: PageUnits;
  /** Records of all passes by what became of them: as far as it is known. `lost` is 0, or there is a defect. */
  readonly records: Partial<Record<'read' | 'good' | 'bad' | 'duplicate' | 'applied' | 'discarded' | 'lost', number>>;
  /** The newest file of each pserver. */
  readonly checkpoints: readonly PageCheckpoint[];
  /** Tables with admission, eviction or a bound; absent if there is none, or a pserver does not answer. */
  readonly tables?: readonly PageTable[] | undefined;
  /** Kept models of a job that is evaluated while it trains. */
  readonly kept?:
    | { readonly metric: string; readonly last: PageKept; readonly best?: PageKept | undefined }
    | undefined;
  /** Result of a job that is done. */
  readonly result?: PageResult | undefined;
  /** The last lines, oldest first. */
  readonly log: readonly PageLogLine[];
}

export interface PageProgress {
  /** Fraction of all passes that is done, 0 to 1. */
  readonly share?: number | undefined;
  readonly pass?: number | undefined;
  readonly passes: number;
  /** Tasks of this pass (async mode). */
  readonly tasks?: { readonly done: number; readonly total: number; readonly pending: number } | undefined;
  /** Rounds of the job (sync mode). */
  readonly rounds?: { readonly done: number; readonly total: number } | undefined;
  readonly recordsPerSecond?: number | undefined;
  readonly secondsLeft?: number | undefined;
  readonly elapsedSeconds: number;
  /** Mean of what the trainers say of their latest records. */
  readonly loss?: number | undefined;
}

export interface PageProcess {
  /** `master`, `pserver 0`, `trainer 5a8f6e0e`. */
  readonly key: string;
  readonly role: 'master' | 'pserver' | 'trainer';
  /** Index of a pserver, the first characters of a trainer's id; empty of a master. */
  readonly id: string;
  readonly address: string;
  readonly host?: string | undefined;
  readonly pid?: number | undefined;
  /** `silent`: it does not answer. `strange`: its answer is not understood. */
  readonly state: 'working' | 'waiting' | 'silent' | 'strange';
  /** What it does, in a few words; of one that is `waiting` what it waits for. */
  readonly activity: string;
  /** In a second: records of a trainer, pushes or rounds of a pserver. */
  readonly rate?: number | undefined;
  readonly rateOf?: 'records' | 'pushes' | 'rounds' | undefined;
  readonly bytes?: number | undefined;
  /** What its time goes to, the most first. */
  readonly time: readonly { readonly phase: string; readonly percent: number }[];
  /** Why it is a straggler. */
  readonly slow?: string | undefined;
  /** Latest errors of the process, oldest first. */
  readonly errors: readonly Omit<PageLogLine, 'log'>[];
}

export interface PageUnits {
  readonly total: number;
  readonly toMove: number;
  /** Number of units without a live primary. */
  readonly orphans: number;
  readonly replicas: number;
  /** Ascending; `inSync` are the pservers that have all of it, its primary among them. */
  readonly list: readonly {
    readonly unit: number;
    readonly primary?: number | undefined;
    readonly inSync: readonly number[];
    /** Updates that the furthest copy lacks. */
    readonly behind: number;
  }[];
}

export type PageCheckpoint =
  | {
      readonly index: number;
      readonly time: number;
      readonly uuid: string;
      readonly bytes?: number | undefined;
      readonly round?: number | undefined;
      /** The files that a delta builds on. */
      readonly buildsOn?: { readonly files: number; readonly bytes: number } | undefined;
    }
  | { readonly error: string };

export interface PageTable {
  readonly name: string;
  readonly rows: number;
  /** Ids with a count but without a row. */
  readonly candidates: number;
  /** Logical bytes, and their maximum. */
  readonly bytes: number;
  readonly boundBytes?: number | undefined;
  /** Ids that got a row, and ids that got none. */
  readonly admitted: number;
  readonly notAdmitted: number;
  readonly refused: number;
  /** Rows, by cause. */
  readonly evicted: { readonly bound: number; readonly unseen: number };
  /** Why the table is too small. */
  readonly note?: string | undefined;
}

export interface PageKept {
  readonly passes: number;
  /** Value of the metric. */
  readonly value?: number | undefined;
}

export interface PageResult {
  readonly modelDigest: string;
  readonly recordsPerSecond: number;
  readonly elapsedSeconds: number;
  /** By name: `logloss`, `auc` and so on. */
  readonly train: Readonly<Record<string, number>>;
  readonly test: Readonly<Record<string, number>>;
}

/** `train`: of the records between two points; others are evaluations. */
export interface PageCurve {
  readonly name: string;
  /** Records trained until then, ascending. */
  readonly trained: readonly number[];
  /** By name of the metric, as long as `trained`. */
  readonly metrics: Readonly<Record<string, readonly (number | null)[]>>;
}

export interface PageLogLine {
  /** `run`, `master`, `pserver-0`. */
  readonly log: string;
  readonly time: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
}
