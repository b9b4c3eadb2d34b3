/** What a failed attempt says about the task. Pure. */

import { type ErrorCode, PaddletError } from '../../base/errors.ts';
import type { PassTask } from './address.ts';
import type { Attempt } from './attempt.ts';
import type { QueueConfig } from './events.ts';
import { DISCARD_TEXT_LENGTH, type DiscardedTask } from './state.ts';

/**
 * Faults of records or of the model, not of the cluster. A trainer that reports one may choose the code by which the
 * job fails.
 */
const DATA_FAULTS = [
  'TooManyBadRecords',
  'DataInvalid',
  'DataMissing',
  'DataChanged',
  'BadGradient',
  'ModelNotFinite',
] as const satisfies readonly ErrorCode[];
export type DataFault = (typeof DATA_FAULTS)[number];

export const isDataFault = (code: string): code is DataFault => (DATA_FAULTS as readonly string[]).includes(code);

/** The code that a report may end the job with; undefined when the cluster is at fault. Throws `BadMessage`. */
export function dataFaultOf({ code, data }: { readonly code: string; readonly data: boolean }): DataFault | undefined {
  if (!data) return undefined;
  if (isDataFault(code)) return code;
  throw new PaddletError('BadMessage', `data is true, but the code '${code}' is not an error in records`, {
    hint: `if data is true, expected one of the codes ${DATA_FAULTS.join(', ')}`,
  });
}

/**
 * Errors that every trainer would meet in the same task. Bad records are: their bytes have the CRC of the index. So are
 * scores that are not finite: parameters do not change while a model is evaluated. Not
 * `DataMissing`, `DataChanged` or `DataInvalid`, as another machine may have the right file, and not `BadGradient`,
 * which depends on the parameters of the moment.
 */
const SAME_FOR_EVERY_TRAINER: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['TooManyBadRecords', 'ModelNotFinite']);

/** Whether another attempt is pointless: then the task is discarded at once. */
export const isSameForEveryTrainer = (code: string): boolean =>
  (SAME_FOR_EVERY_TRAINER as ReadonlySet<string>).has(code);

/** Why an attempt ended without its task being done. */
export interface AttemptEnd {
  readonly isFailure: boolean;
  /** Another attempt cannot end better. */
  readonly isFinal?: boolean;
  readonly code: string;
  readonly error: string;
  readonly hint?: string | undefined;
}

interface TaskPlace extends Pick<QueueConfig, 'taskRecords' | 'describeTask'> {
  readonly address: PassTask;
}

/** The report of a task that is discarded when this attempt ends so. */
export function discardOf({ task, trainer }: Attempt, end: AttemptEnd, place: TaskPlace): DiscardedTask {
  const { code, error, hint } = end;
  return {
    task: place.address.task,
    pass: place.address.pass,
    records: place.taskRecords[task]!,
    trainer,
    code,
    error: error.slice(0, DISCARD_TEXT_LENGTH),
    ...(hint === undefined ? {} : { hint: hint.slice(0, DISCARD_TEXT_LENGTH) }),
    where: place.describeTask(task).slice(0, DISCARD_TEXT_LENGTH),
  };
}
