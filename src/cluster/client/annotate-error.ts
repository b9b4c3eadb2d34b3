import { PaddletError } from '../../base/errors.ts';

/** The same error, code and hint, with another message or more details. */
export function annotateError(
  error: PaddletError,
  { message = error.message, details = {} }: { message?: string; details?: Readonly<Record<string, unknown>> },
): PaddletError {
  return new PaddletError(error.code, message, {
    details: { ...error.details, ...details },
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}
