/**
 * A port for each process of a run, so that one that is started again is where it was: the page stays at its address,
 * and to Prometheus the process is the same one.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

export class ChildPorts {
  readonly #ports = new Map<string, Promise<number>>();

  /** `name` of a process: `pserver 0`. It may have been taken by another program when the process tries it. */
  of(name: string): Promise<number> {
    let port = this.#ports.get(name);
    if (port === undefined) {
      port = freePort();
      this.#ports.set(name, port);
    }
    return port;
  }
}

/** On the loopback address that the processes of a run listen on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
