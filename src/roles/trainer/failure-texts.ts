/** What a report to the master says of an error. */
import type { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';

export const failureTexts = ({ message, hint }: PaddletError) => ({
  error: message.slice(0, LIMITS.failureCharacters),
  ...(hint === undefined ? {} : { hint: hint.slice(0, LIMITS.failureCharacters) }),
});
