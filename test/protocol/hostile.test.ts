/** Whatever arrives on a role's port, the role lives on and its other connections notice nothing. */
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import type { Channel } from '../../src/protocol/messages/channel.ts';
import * as fc from '../properties.ts';
import { describeOnEveryPath, type Rig, rig } from './rig.ts';
import { everythingFrom, frameBytes, joinedTcp, pushBytes, rawTcp, rawWebSocket, upgradeTo } from './stranger.ts';

const LONG = { timeoutMs: 30_000 };

/** A server with one well-behaved client, whose connection has to outlive everything. */
async function besieged(): Promise<Rig & { unharmed(): Promise<void> }> {
  const sessions = new Set<string>();
  const started = await rig({
    handler: (request, session) => {
      if (request.header.type === 'info') sessions.add(session.remoteAddress);
      return request.header.type === 'info'
        ? { header: { type: 'info', info: {} } }
        : { header: { type: 'push', outcome: 'applied', recovery: 0 } };
    },
  });
  const friend: Channel = started.connect();
  await friend.request({ header: { type: 'info' } }, LONG);
  const [first] = sessions;
  return {
    ...started,
    unharmed: async () => {
      sessions.clear();
      await friend.request({ header: { type: 'info' } }, LONG);
      expect([...sessions]).toEqual([first]);
      expect(started.bugs).toEqual([]);
    },
  };
}

/** Bytes of buffers that something still refers to. */
async function bytesHeld(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // The first collection finds what is dead, the second waits for the sweeper of the first.
  for (let i = 0; i < 2; i++) {
    collect();
    await turn();
  }
  return process.memoryUsage().arrayBuffers;
}

describeOnEveryPath('a role lives on', () => {
  it('under random bytes on its port', async () => {
    const { server, unharmed } = await besieged();
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 500 }),
      fc
        .uint8Array({ maxLength: 500 })
        .map((garbage) => Buffer.concat([Buffer.from('GET /healthz HTTP/1.1\r\n'), garbage])),
      fc
        .uint8Array({ minLength: 1, maxLength: 500 })
        .map((garbage) => Buffer.concat([Buffer.from(upgradeTo(server.port)), garbage])),
    );
    await fc.assert(
      fc.asyncProperty(bytes, async (garbage) => {
        const socket = await rawTcp(server.port);
        const all = everythingFrom(socket);
        socket.end(garbage);
        await all;
      }),
      { numRuns: 150 },
    );
    await unharmed();
  });

  it('under frames that were cut, lengthened and changed', async () => {
    const { server, unharmed } = await besieged();
    const edit = fc.record({ at: fc.nat(), to: fc.nat(255), cutAt: fc.option(fc.nat(), { freq: 3 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), fc.boolean(), async (edits, large) => {
        let bytes = pushBytes(7, large ? 100_000 : 20);
        for (const { at, to, cutAt } of edits) {
          // Mostly in the part that has structure.
          if (bytes.length > 0) bytes[at % Math.min(bytes.length, 260)] = to;
          if (cutAt !== null) bytes = bytes.slice(0, cutAt % (bytes.length + 1));
        }
        const client = await rawWebSocket(server.port);
        client.send(bytes);
        // Still a valid frame, it is answered; if not, it is refused with a code and the connection is closed.
        const answer = await client.frame(1);
        const codes = ['BadFrame', 'FrameTooLarge', 'BadMessage'];
        if (answer.kind === 'error') expect(codes).toContain((answer.header as { code: string }).code);
        else expect(answer.kind).toBe('reply');
        client.ws.terminate();
      }),
      { numRuns: 150 },
    );
    await unharmed();
  });

  const lengths = (change: (view: DataView) => void): Uint8Array => {
    const bytes = pushBytes(9, 16);
    change(new DataView(bytes.buffer, bytes.byteOffset));
    return bytes;
  };
  it.each([
    ['a frame of 3 GB', 'FrameTooLarge', 1009, lengths((v) => v.setUint32(20, 3_000_000_000, true))],
    ['a header of 3 GB', 'FrameTooLarge', 1009, lengths((v) => v.setUint32(12, 3_000_000_000, true))],
    ['too many segments', 'FrameTooLarge', 1009, lengths((v) => v.setUint32(16, LIMITS.frameSegments + 1, true))],
    ['a segment of 3 GB', 'BadFrame', 1002, lengths((v) => v.setUint32(24, 3_000_000_000, true))],
    ['a reply', 'BadFrame', 1002, frameBytes({ kind: 'reply', requestId: 9 })],
    [
      'a repeated key',
      'BadFrame',
      1002,
      // The second `job` was `jab`.
      new Uint8Array(
        Buffer.from(
          Buffer.from(frameBytes({ requestId: 9, header: { type: 'info', job: 'a', jab: 'b' } }))
            .toString('latin1')
            .replace('jab', 'job'),
          'latin1',
        ),
      ),
    ],
    [
      'headers that ask for memory',
      'BadFrame',
      1002,
      frameBytes({ requestId: 9, header: { a: '\u0000' } }).with(24, 0x9a),
    ],
  ])('and answers %s with a code, and closes', async (_what, code, closeCode, bytes) => {
    const { server, unharmed } = await besieged();
    const client = await rawWebSocket(server.port);
    const before = process.memoryUsage().arrayBuffers;
    client.send(bytes);
    expect(await client.closed).toEqual({ code: closeCode, reason: code });
    expect(client.frames).toHaveLength(1);
    expect(client.frames[0]).toMatchObject({ kind: 'error', requestId: 9, header: { type: 'error', code } });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(512 << 20);
    await unharmed();
  });

  it.each([
    ['a message of 3 GB', Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0xb2, 0xd0, 0x5e, 0, 0, 0, 0, 0]), 1009],
    ['a fragment of 3 GB', Buffer.from([0x02, 0xff, 0, 0, 0, 0, 0xb2, 0xd0, 0x5e, 0, 0, 0, 0, 0]), 1009],
    ['a length of 2^63', Buffer.from([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), 1009],
    ['no mask', Buffer.from([0x82, 0x01, 0x00]), 1002],
    ['compression that was not agreed', Buffer.from([0xc2, 0x81, 0, 0, 0, 0, 0]), 1002],
  ])('and closes on a WebSocket header that announces %s', async (_what, header, code) => {
    const { server, unharmed } = await besieged();
    const socket = await joinedTcp(server.port);
    const before = process.memoryUsage().arrayBuffers;
    const all = everythingFrom(socket);
    socket.end(header);
    const close = Buffer.from(await all, 'latin1');
    expect([close[0], close.readUInt16BE(2)]).toEqual([0x88, code]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(512 << 20);
    await unharmed();
  });

  it('and closes on a request without an id', async () => {
    const { server, unharmed } = await besieged();
    const client = await rawWebSocket(server.port);
    client.send(frameBytes({ requestId: 0 }));
    expect(await client.closed).toEqual({ code: 1002, reason: 'BadFrame' });
    expect(client.frames).toMatchObject([{ kind: 'error', requestId: 0, header: { code: 'BadFrame' } }]);
    await unharmed();
  });

  it('and closes on a text message', async () => {
    const { server, unharmed } = await besieged();
    const client = await rawWebSocket(server.port);
    client.ws.send('hello');
    expect(await client.closed).toEqual({ code: 1002, reason: 'BadFrame' });
    await unharmed();
  });

  it('and says so, keeping the connection, when a message is unknown or a field is wrong', async () => {
    const { server, unharmed } = await besieged();
    const client = await rawWebSocket(server.port);
    const headers = [
      { type: 'launchMissiles' },
      { type: 'info', extra: 1 },
      {},
      [1],
      null,
      'info',
      { type: { type: 1 } },
    ];
    for (const [i, header] of headers.entries()) client.send(frameBytes({ requestId: i + 1, header }));
    client.send(frameBytes({ requestId: 100 }));
    await client.frame(headers.length + 1);
    expect(client.frames.map((f) => f.requestId)).toEqual([1, 2, 3, 4, 5, 6, 7, 100]);
    for (const { header } of client.frames.slice(0, -1)) expect(header).toMatchObject({ code: 'BadMessage' });
    expect(client.frames.at(-1)?.kind).toBe('reply');
    await unharmed();
  });

  it('with memory that does not grow, over a hundred bad connections', async () => {
    const { server, unharmed } = await besieged();
    const attack = async (): Promise<void> => {
      const client = await rawWebSocket(server.port);
      client.send(pushBytes(1, 200_000).subarray(0, 150_000));
      await client.closed;
    };
    for (let i = 0; i < 20; i++) await attack();
    await unharmed();
    const before = await bytesHeld();
    for (let i = 0; i < 100; i++) await attack();
    // 100 × 150 kB were sent and refused.
    expect((await bytesHeld()) - before).toBeLessThan(5 << 20);
    await unharmed();
  });
});
