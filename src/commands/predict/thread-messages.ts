/** What the process and its threads tell each other. */
import type { SentError } from '../../base/sent-error.ts';
import type { AnyPart } from '../../data/formats/format.ts';
import type { PulledValues } from '../../model/model.ts';
import type { MadePart } from '../../roles/evaluator/predictor.ts';
import type { IdList } from '../../tensor/id-router.ts';

export type ToThread =
  | { readonly kind: 'part'; readonly id: number; readonly part: AnyPart; readonly tellsIds: boolean }
  /** The answer to what the thread has asked for, in its order; without one, the part is given up. */
  | { readonly kind: 'answer'; readonly id: number; readonly answer: PulledValues | BigUint64Array | undefined };

export type FromThread =
  | { readonly kind: 'pull'; readonly id: number; readonly ids: readonly IdList[] }
  | { readonly kind: 'knownIds'; readonly id: number; readonly table: number; readonly ids: BigUint64Array }
  | { readonly kind: 'made'; readonly id: number; readonly made: MadePart }
  | { readonly kind: 'failed'; readonly id: number; readonly error: SentError };
