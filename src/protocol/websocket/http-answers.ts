/**
 * Plain HTTP on a role's port: GET and HEAD go to the role's `http`, everything else is refused. One request a
 * connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpAnswer, ListenOptions } from '../messages/channel.ts';
import type { CallerRefusal } from './callers.ts';

const TEXT = 'text/plain; charset=utf-8';
/** No page of another origin may show or run what a role answers. */
const FOR_THIS_ORIGIN = { 'cross-origin-resource-policy': 'same-origin', 'x-content-type-options': 'nosniff' };

export interface HttpRules {
  readonly http: ListenOptions['http'];
  /** Why the caller is refused. */
  readonly refusal: CallerRefusal | undefined;
  /** An origin of the user's choice, whose pages may read the answer. */
  readonly readableBy: string | undefined;
}

/** Answers one request. What `http` throws is a bug: 500, and it goes to `onBug`. */
export async function answerHttp(
  request: IncomingMessage,
  response: ServerResponse,
  { http, refusal, readableBy }: HttpRules,
  onBug: (error: unknown) => void,
): Promise<void> {
  const say = ({ status, contentType, body, headers }: HttpAnswer): void => {
    // A body that the client sends is never read.
    response.writeHead(status, {
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      connection: 'close',
      ...headers,
      ...FOR_THIS_ORIGIN,
      ...(readableBy === undefined ? {} : { 'access-control-allow-origin': readableBy, vary: 'origin' }),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
  if (refusal !== undefined) return say({ status: refusal.status, contentType: TEXT, body: refusal.body });
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return say({ status: 405, contentType: TEXT, body: 'only GET\n' });
  }
  const path = (request.url ?? '/').split('?', 1)[0]!;
  try {
    say((await http(path)) ?? { status: 404, contentType: TEXT, body: 'not found\n' });
  } catch (error) {
    say({ status: 500, contentType: TEXT, body: 'internal error\n' });
    onBug(error);
  }
}
