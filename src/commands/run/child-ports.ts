/**
 * A port for each process of a run, so that one that is started again is where it was: the page stays at its address,
 * and to Prometheus the process is the same one.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

export class ChildPorts {
  readonly #ports = new Map<string, number>();

  /**
   * `name` of a process: `pserver 0`. The port may have been taken by another program when the process tries it.
   * Undefined when none can be had now: then the process takes any.
   */
  async of(name: string): Promise<number | undefined> {
    const known = this.#ports.get(name);
    if (known !== undefined) return known;
    try {
      const port = await freePort();
      this.#ports.set(name, port);
      return port;
    } catch {
      return undefined;
    }
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
