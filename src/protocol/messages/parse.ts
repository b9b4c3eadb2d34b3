/** Validates every header that arrives, before anything acts on it. Others than the messages' are a `BadMessage`. */
import type * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import { type ErrorHeader, errorSchema, MESSAGES, type ReplyHeader, type RequestHeader } from './all-messages.ts';

function parse<T>(schema: z.ZodType<T>, header: unknown, what: string): T {
  const parsed = schema.safeParse(header);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? 'header' : issue.path.join('.');
  throw new PaddletError('BadMessage', `${what}: ${where}: ${issue?.message ?? 'invalid'}`);
}

/** The message that `type` of the header names: schemas of other messages are not made. */
function messageOf(header: unknown, what: string): (typeof MESSAGES)[keyof typeof MESSAGES] {
  const type = (header as { readonly type?: unknown } | null | undefined)?.type;
  if (typeof type === 'string' && Object.hasOwn(MESSAGES, type)) return MESSAGES[type as keyof typeof MESSAGES];
  throw new PaddletError('BadMessage', `${what}: type: expected the name of a message`);
}

export const parseRequest = (header: unknown): RequestHeader =>
  parse<RequestHeader>(messageOf(header, 'request').request, header, 'request');
export const parseReply = (header: unknown): ReplyHeader =>
  parse<ReplyHeader>(messageOf(header, 'reply').reply, header, 'reply');
export const parseError = (header: unknown): ErrorHeader => parse(errorSchema, header, 'error reply');

/** A header as it came in a frame. */
export interface ReadHeader {
  readonly header: unknown;
  /** It is a hot message's and was checked while it was read: the schemas would cost a fifth of a small push. */
  readonly isChecked: boolean;
}

export const requestOf = ({ header, isChecked }: ReadHeader): RequestHeader =>
  isChecked ? (header as RequestHeader) : parseRequest(header);
export const replyOf = ({ header, isChecked }: ReadHeader): ReplyHeader =>
  isChecked ? (header as ReplyHeader) : parseReply(header);
