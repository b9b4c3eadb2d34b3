/** What a failed attempt says about the task. Pure. */
import type { ErrorCode } from '../../base/errors.ts';

/**
 * Errors that every trainer would meet in the same task. Bad records are: their bytes have the CRC of the index. Not
 * `DataMissing`, `DataChanged` or `DataInvalid`, as another machine may have the right file, and not `BadGradient`,
 * which depends on the parameters of the moment.
 */
const SAME_FOR_EVERY_TRAINER: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['TooManyBadRecords']);

/** Whether another attempt is pointless: then the task is discarded at once. */
export const isSameForEveryTrainer = (code: string): boolean =>
  (SAME_FOR_EVERY_TRAINER as ReadonlySet<string>).has(code);
