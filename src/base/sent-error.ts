/** An error that one thread tells another: as data, since its class does not travel. */
import { isErrorCode, PaddletError } from './errors.ts';

export interface SentError {
  readonly message: string;
  /** Code of an expected error. */
  readonly code?: string;
  readonly hint?: string | undefined;
  readonly stack?: string | undefined;
}

export function sentError(error: unknown): SentError {
  if (error instanceof PaddletError) return { message: error.message, code: error.code, hint: error.hint };
  return error instanceof Error ? { message: error.message, stack: error.stack } : { message: String(error) };
}

export function receivedError({ message, code, hint, stack }: SentError): Error {
  if (isErrorCode(code)) return new PaddletError(code, message, hint === undefined ? {} : { hint });
  const bug = new Error(message);
  if (stack !== undefined) bug.stack = stack;
  return bug;
}
