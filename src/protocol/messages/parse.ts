/** Validates every header that arrives, before anything acts on it. Others than the messages' are a `BadMessage`. */
import type * as z from 'zod';
import { PaddletError } from '../../base/errors.ts';
import {
  type ErrorHeader,
  errorSchema,
  type ReplyHeader,
  type RequestHeader,
  replySchema,
  requestSchema,
} from './messages.ts';
import { isPlainPullOrPush, isPlainReply } from './plain-messages.ts';

function parse<T>(schema: z.ZodType<T>, header: unknown, what: string): T {
  const parsed = schema.safeParse(header);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? 'header' : issue.path.join('.');
  throw new PaddletError('BadMessage', `${what}: ${where}: ${issue?.message ?? 'invalid'}`);
}

export const parseRequest = (header: unknown): RequestHeader =>
  isPlainPullOrPush(header) ? header : parse(requestSchema, header, 'request');
export const parseReply = (header: unknown): ReplyHeader =>
  isPlainReply(header) ? header : parse(replySchema, header, 'reply');
export const parseError = (header: unknown): ErrorHeader => parse(errorSchema, header, 'error reply');
