/**
 * The closed union of all messages. To add one, add it to `to-pserver.ts`, `to-master.ts` or `to-any.ts`, by its
 * receiver; those that are sent with every mini-batch are in `hot-messages.ts`. The segments of each are described
 * beside it. docs/protocol.md says the same for other languages.
 */
import * as z from 'zod';
import type { errorSchema } from './fields.ts';
import { anyRoleMessages } from './to-any.ts';
import { masterMessages } from './to-master.ts';
import { pserverMessages } from './to-pserver.ts';

const MESSAGES = { ...anyRoleMessages, ...pserverMessages, ...masterMessages };
type Message = (typeof MESSAGES)[keyof typeof MESSAGES];

/** A union has at least one option, which the type of `map` does not say. */
type Options<Schema> = [Schema, ...Schema[]];
const messages: readonly Message[] = Object.values(MESSAGES);
const requests = messages.map(({ request }) => request) as Options<Message['request']>;
const replies = messages.map(({ reply }) => reply) as Options<Message['reply']>;

export const requestSchema = z.discriminatedUnion('type', requests);
export type RequestHeader = z.infer<typeof requestSchema>;

export const replySchema = z.discriminatedUnion('type', replies);
export type ReplyHeader = z.infer<typeof replySchema>;

export type ErrorHeader = z.infer<typeof errorSchema>;

export type { DealtTask, TaskChunks } from './dealt-task.ts';
export { errorSchema } from './fields.ts';
export type { PlacementStamp } from './hot-messages.ts';
export { PHASES, type TaskEnd } from './to-master.ts';
