/** Types of requests to a pserver and of its replies. */

import type { ReplyHeader, RequestHeader } from '../../../protocol/messages/all-messages.ts';
import type { Outgoing, Received } from '../../../protocol/messages/channel.ts';

export type RequestType = RequestHeader['type'];
export type Header<T extends RequestType> = Extract<RequestHeader, { type: T }>;
export type Request<T extends RequestType> = Received<Header<T>>;
export type Reply = Outgoing<ReplyHeader>;
