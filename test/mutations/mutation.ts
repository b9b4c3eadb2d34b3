/** A rule of the protocol, and the change of the source that takes it out. */
import type { FaultKind } from '../sim/fault-kinds.ts';
import type { Mode } from '../sim/mode.ts';

export interface Mutation {
  /** What must hold; the mutation makes it not hold. */
  readonly rule: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Schedules that may notice. */
  readonly schedules?: {
    readonly mode: Mode;
    /** Disks fail, too. */
    readonly disks?: boolean;
    /** Units have copies. */
    readonly isCopied?: boolean;
    /** The job is evaluated while it trains. */
    readonly isEvaluated?: boolean;
    /** Most files have changes only. */
    readonly hasDeltas?: boolean;
    /** Only these faults. Default: the usual mix. */
    readonly faults?: readonly FaultKind[];
    /** How many are tried. */
    readonly count?: number;
  };
  /** Unit tests that may notice: files or folders. */
  readonly tests?: readonly string[];
}
