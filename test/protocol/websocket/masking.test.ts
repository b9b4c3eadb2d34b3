/** Masks of zeros are for peers that agreed to them; all others get masks that cannot be guessed. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { createWebSocketNetwork } from '../../../src/protocol/websocket/network.ts';
import { SUBPROTOCOL, ZERO_MASK_SUBPROTOCOL } from '../../../src/protocol/websocket/version.ts';
import type { Masking } from '../../../src/protocol/websocket/wire-options.ts';
import { testToken } from '../join.ts';
import { describeOnEveryPath, fixedRandom, info, infoReply, realClock, rig, throughRelay } from '../rig.ts';

/** The mask of the first frame that a client with `masking` sends to a server with `agreed`. */
async function firstMask(masking: Masking, agreed: Masking): Promise<number[]> {
  const { server, log } = await rig({ ...throughRelay, handler: () => infoReply, masking: agreed });
  const sent: Buffer[] = [];
  const tap = createServer((near) => {
    const far = connect(server.port, '127.0.0.1');
    near.on('data', (bytes: Buffer) => sent.push(bytes));
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  await once(tap, 'listening');
  onTestFinished(() => void tap.close());
  const network = createWebSocketNetwork({ clock: realClock, random: fixedRandom, joinToken: testToken, log, masking });
  const channel = network.connect(`127.0.0.1:${(tap.address() as AddressInfo).port}`);
  (await channel.request(info, { timeoutMs: 30_000 })).free();
  channel.close();
  const all = Buffer.concat(sent);
  const frame = all.subarray(all.indexOf('\r\n\r\n') + 4);
  // Final, binary, masked, short.
  expect([frame[0], frame[1]! & 0x80]).toEqual([0x82, 0x80]);
  expect(frame[1]! & 0x7f).toBeLessThan(126);
  return [...frame.subarray(2, 6)];
}

const zeros = [0, 0, 0, 0];

describeOnEveryPath('masks', () => {
  it.each([
    ['auto', 'auto'],
    ['zero', 'auto'],
    ['zero', 'zero'],
  ] as const)('are zeros on loopback when client (%s) and server (%s) agree', async (masking, agreed) => {
    expect(await firstMask(masking, agreed)).toEqual(zeros);
  });

  it.each([
    ['random', 'auto'],
    ['auto', 'random'],
    ['zero', 'random'],
  ] as const)('are random when client (%s) and server (%s) do not agree', async (masking, agreed) => {
    const masks = [await firstMask(masking, agreed), await firstMask(masking, agreed)];
    // Both all zeros, or both the same: once in 2^32 runs.
    expect(masks).not.toContainEqual(zeros);
    expect(masks[0]).not.toEqual(masks[1]);
  });

  it('of strangers are not spoken of: what they offer is what is chosen', async () => {
    const { server } = await rig({ handler: () => infoReply });
    for (const offered of [[SUBPROTOCOL], [SUBPROTOCOL, ZERO_MASK_SUBPROTOCOL]]) {
      const ws = new WebSocket(`ws://127.0.0.1:${server.port}/`, offered);
      await once(ws, 'open');
      expect(ws.protocol).toBe(offered.at(-1));
      ws.terminate();
    }
  });
});
