/** A role takes its port before it waits for a job. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { claimPort } from '../../../src/protocol/websocket/claim-port.ts';

async function listening(port = 0): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

it('keeps others off the port until it gives it back', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));

  const claimed = await claimPort(`127.0.0.1:${port}`);
  onTestFinished(() => claimed.release());
  await expect(claimPort(`127.0.0.1:${port}`)).rejects.toMatchObject({ code: 'PortInUse' });
  const client = connect(port, '127.0.0.1');
  client.on('error', () => {});
  await once(client, 'close');
  await claimed.release();
  await claimed.release();
  expect(await listening(port)).toBe(port);
});

it.each([
  '127.0.0.1:99999',
  '::1',
  '[::1]',
  ':8080',
  '999.1.1.1:0',
  // Not of this machine (RFC 5737).
  '192.0.2.1:0',
])('refuses %s as the usage that it is', async (text) => {
  await expect(claimPort(text)).rejects.toMatchObject({ code: 'Usage' });
});

it('checks the host where the port is free to choose', async () => {
  await (await claimPort('127.0.0.1:0')).release();
});
