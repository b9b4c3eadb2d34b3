/** Ports of the processes of a run. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { listenOn } from '../../../src/commands/base/role-command.ts';
import { ChildPorts } from '../../../src/commands/run/child-ports.ts';
import { createWebSocketNetwork } from '../../../src/protocol/websocket/network.ts';
import { testToken } from '../../protocol/join.ts';
import { fixedRandom, MemoryLog, realClock } from '../../protocol/rig.ts';

async function listenFirstOn(port: string | undefined, listen = '127.0.0.1:0'): Promise<number> {
  const log = new MemoryLog();
  const network = createWebSocketNetwork({ clock: realClock, random: fixedRandom, joinToken: testToken, log });
  const handler = () => ({ header: { type: 'info' as const, info: {} } });
  const server = await listenOn(network, { listen, handler, http: async () => undefined }, port);
  onTestFinished(() => server.close());
  return server.port;
}

it('a process is started again where it was, others elsewhere', async () => {
  const ports = new ChildPorts();
  const master = (await ports.of('master'))!;
  expect(await ports.of('trainer 0')).not.toBe(master);
  expect(await ports.of('master')).toBe(master);
  expect(await listenFirstOn(String(master))).toBe(master);
});

it('a port that another program has taken stops nothing; one that the user chose is taken as it is', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const found = await listenFirstOn(String(port));
  expect(found).not.toBe(port);
  await expect(listenFirstOn(undefined, `127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'PortInUse' });
  expect(await listenFirstOn('')).toBeGreaterThan(0);
});
