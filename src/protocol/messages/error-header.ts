/** Errors on the wire: a PaddletError as an error header and back. */
import { isErrorCode, PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { ErrorHeader } from './all-messages.ts';
import { parseError } from './parse.ts';

const shorten = (text: string): string =>
  text.length <= LIMITS.errorCharacters ? text : `${text.slice(0, LIMITS.errorCharacters - 1)}…`;

export function toErrorHeader(error: PaddletError): ErrorHeader {
  const header = { type: 'error' as const, code: error.code, message: shorten(error.message), details: error.details };
  return error.hint === undefined ? header : { ...header, hint: shorten(error.hint) };
}

/** What a peer answered. A code that this version does not know is an `Internal` error naming it. */
export function fromErrorHeader(header: unknown, peer: string): PaddletError {
  const { code, message, hint, details } = parseError(header);
  const options = hint === undefined ? { details } : { hint, details };
  if (isErrorCode(code)) return new PaddletError(code, message, options);
  return new PaddletError('Internal', `${peer} sent the unknown error code ${code}: ${message}`, options);
}
