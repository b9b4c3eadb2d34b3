/** What makes an output of predictions. */
import type { Made } from '../../roles/evaluator/predictor.ts';
import type { ScoredGroup } from '../../roles/evaluator/score-groups.ts';

/** Names of what a record has there. */
export interface OutputNames {
  readonly kept: readonly string[];
  /** One, or one a class. */
  readonly scores: readonly string[];
  /** Why a record has no score is written beside it. */
  readonly hasErrors: boolean;
}

export interface Output {
  /** Can be called in any thread. */
  make(groups: Iterable<ScoredGroup>): Made;
  /** Bytes before everything else. */
  readonly head: Uint8Array;
  /** Called with all that is made, in order: the bytes that can be written by then. */
  bytesOf(made: Made): Uint8Array;
  /** Bytes after everything else. */
  end(): Uint8Array;
}
