/** Opens a role's port and derives the address that other processes use. */

import type { LandingAllocator, ListenOptions, RequestHandler, Server, Viewer } from '../protocol/messages/channel.ts';
import { formatAddress, parseAddress } from '../protocol/websocket/address.ts';
import type { Readiness, RoleContext } from './context.ts';

export interface Listening {
  readonly server: Server;
  /** `host:port` that other processes connect to. */
  readonly address: string;
}

/** What a role shows to browsers. */
export interface Page {
  /** Undefined for paths that are not the page's. */
  readonly http: ListenOptions['http'];
  readonly onViewer: (viewer: Viewer) => void;
  /** Shows once more what there is to see. */
  close(): Promise<void>;
}

export interface ListenParts {
  readonly landing?: LandingAllocator;
  readonly page?: Page | undefined;
}

export async function listen(
  context: RoleContext,
  handler: RequestHandler,
  isReady: () => Readiness,
  { landing, page }: ListenParts = {},
): Promise<Listening> {
  const { host: boundHost } = parseAddress(context.listen, { allowPortZero: true });
  const host = context.advertise ?? reachable(boundHost, context.hostName);
  const health = context.health(isReady);
  const server = await context.network.listen({
    listen: context.listen,
    advertise: host,
    ...(context.allow === undefined ? {} : { allow: context.allow }),
    handler,
    http: page === undefined ? health : async (path) => (await page.http(path)) ?? health(path),
    ...(page === undefined ? {} : { onViewer: page.onViewer }),
    ...(landing === undefined ? {} : { landing }),
  });
  return { server, address: formatAddress({ host, port: server.port }) };
}

/** A wildcard address is only for binding; other processes need a name. */
export function reachable(host: string, hostName: string): string {
  return host === '0.0.0.0' || host === '::' ? hostName : host;
}
