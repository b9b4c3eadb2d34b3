/** A TCP relay that can lose its connections, or let them stand half-open, as a network does. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Relay {
  readonly address: string;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Resets every connection. */
  cut(): void;
  /** Nothing passes any more, in neither direction, and neither end is told. New connections are served. */
  freeze(): void;
}

export async function relayTo(port: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((near) => {
    accepted++;
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get accepted() {
      return accepted;
    },
    cut: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    freeze: () => {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
  };
}
