/** Opens a role's port and derives the address that other processes use. */

import type { LandingAllocator, RequestHandler, Server } from '../protocol/messages/channel.ts';
import { formatAddress, parseAddress } from '../protocol/websocket/address.ts';
import type { Readiness, RoleContext } from './context.ts';

export interface Listening {
  readonly server: Server;
  /** `host:port` that other processes connect to. */
  readonly address: string;
}

export async function listen(
  context: RoleContext,
  handler: RequestHandler,
  isReady: () => Readiness,
  landing?: LandingAllocator,
): Promise<Listening> {
  const { host: boundHost } = parseAddress(context.listen, { allowPortZero: true });
  const host = context.advertise ?? reachable(boundHost, context.hostName);
  const server = await context.network.listen({
    listen: context.listen,
    advertise: host,
    ...(context.allow === undefined ? {} : { allow: context.allow }),
    handler,
    http: context.health(isReady),
    ...(landing === undefined ? {} : { landing }),
  });
  return { server, address: formatAddress({ host, port: server.port }) };
}

/** A wildcard address is only for binding; other processes need a name. */
function reachable(host: string, hostName: string): string {
  return host === '0.0.0.0' || host === '::' ? hostName : host;
}
