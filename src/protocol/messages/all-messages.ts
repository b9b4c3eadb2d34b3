/**
 * All messages. To add one, add it to `to-pserver.ts`, `to-master.ts` or `to-any.ts`, by its receiver; those that are
 * sent with every mini-batch are in `hot-messages.ts`. The segments of each are described beside it. docs/protocol.md
 * says the same for other languages.
 */
import type * as z from 'zod';
import type { errorSchema } from './fields.ts';
import { anyRoleMessages } from './to-any.ts';
import { masterMessages } from './to-master.ts';
import { pserverMessages } from './to-pserver.ts';

export const MESSAGES = { ...anyRoleMessages, ...pserverMessages, ...masterMessages };
type Message = (typeof MESSAGES)[keyof typeof MESSAGES];

export type RequestHeader = z.infer<Message['request']>;
export type ReplyHeader = z.infer<Message['reply']>;

export type ErrorHeader = z.infer<typeof errorSchema>;

export type { DealtTask, TaskChunks } from './dealt-task.ts';
export { errorSchema } from './fields.ts';
export type { PlacementStamp } from './hot-messages.ts';
export { PHASES, type TaskEnd } from './to-master.ts';
