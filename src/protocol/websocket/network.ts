/** The real network: WebSocket connections carrying frames (docs/protocol.md). */

import type { Network } from '../messages/channel.ts';
import { parseAddress } from './address.ts';
import { WebSocketChannel } from './channel.ts';
import { listen } from './server.ts';
import { resolveWire, type WebSocketNetworkOptions } from './wire-options.ts';

/**
 * `listen` throws `PortInUse`, or `Usage` for an address that cannot be listened on; `connect` throws `Usage` for one
 * that cannot be connected to, and otherwise returns at once: the channel connects by itself.
 */
export function createWebSocketNetwork(options: WebSocketNetworkOptions): Network {
  const wire = resolveWire(options);
  return {
    listen: (listenOptions) => listen(wire, listenOptions),
    connect: (address, connectOptions) => {
      parseAddress(address);
      const { landing, isBuffered = false } = connectOptions ?? {};
      return new WebSocketChannel(isBuffered ? { ...wire, unixSockets: false } : wire, address, landing);
    },
  };
}
