/** Opens a role's port and says how others reach it. */

import type { LandingAllocator, RequestHandler, Server } from '../protocol/messages/channel.ts';
import { formatAddress, parseAddress } from '../protocol/websocket/address.ts';
import type { Readiness, RoleContext } from './context.ts';

export interface Listening {
  readonly server: Server;
  /** `host:port` that others connect to. */
  readonly address: string;
}

export async function listen(
  context: RoleContext,
  handler: RequestHandler,
  isReady: () => Readiness,
  landing?: LandingAllocator,
): Promise<Listening> {
  const server = await context.network.listen({
    listen: context.listen,
    handler,
    http: context.health(isReady),
    ...(landing === undefined ? {} : { landing }),
  });
  const bound = parseAddress(context.listen, { allowPortZero: true });
  const host = context.advertise ?? reachable(bound.host, context.hostName);
  return { server, address: formatAddress({ host, port: server.port }) };
}

/** A wildcard is for binding; others need a name. */
function reachable(host: string, hostName: string): string {
  return host === '0.0.0.0' || host === '::' ? hostName : host;
}
