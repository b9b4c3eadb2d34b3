/** Both ends of a connection prove that they know the join token; who does not gets nothing, and not for long. */
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { LIMITS } from '../../../src/base/limits.ts';
import { decodeFrame, encodeFrame } from '../../../src/protocol/frames/frame.ts';
import { isProof, proofOf } from '../../../src/protocol/join/proof.ts';
import { type JoinToken, NO_JOIN_TOKEN } from '../../../src/protocol/join/token.ts';
import { createWebSocketNetwork } from '../../../src/protocol/websocket/network.ts';
import { SUBPROTOCOL } from '../../../src/protocol/websocket/version.ts';
import { answerTo, joinFrame, meetingOf, nonceOf, TOKEN, testToken, tokenOf } from '../join.ts';
import { describeOnEveryPath, fixedRandom, info, infoReply, ManualClock, MemoryLog, realClock, rig } from '../rig.ts';
import { everythingFrom, frameBytes, pushBytes, rawTcp, rawWebSocket, upgradeTo } from '../stranger.ts';

const OTHER = TOKEN.map((byte) => byte ^ 1);
const bytesOf = (frame: Parameters<typeof encodeFrame>[0]): Uint8Array => Buffer.concat(encodeFrame(frame).buffers);

/** A role that counts the requests that reached it, and a stranger who has its challenge. */
async function strangerAt(token: JoinToken = testToken) {
  let requests = 0;
  const started = await rig({
    joinToken: token,
    handler: () => {
      requests++;
      return infoReply;
    },
  });
  const stranger = await rawWebSocket(started.server.port, { joins: false });
  const { header } = await stranger.frame(1);
  const challenge = joinFrame(header as object);
  return { ...started, ...stranger, challenge, requests: () => requests };
}

describeOnEveryPath('a role', () => {
  it('is joined by who knows the token, proves itself, and only then takes requests', async () => {
    const { challenge, address, send, frame, requests } = await strangerAt();
    send(answerTo(challenge, address));
    const welcome = (await frame(2)).header as { type: string; proof: Uint8Array };
    expect(welcome.type).toBe('welcome');
    expect(isProof(welcome.proof, TOKEN, 'server', meetingOf(challenge, address))).toBe(true);
    expect(requests()).toBe(0);
    send(frameBytes({ requestId: 3 }));
    expect(await frame(3)).toMatchObject({ kind: 'reply', requestId: 3 });
  });

  it('refuses a proof by another token, of another direction, for another connection or another host', async () => {
    const first = await strangerAt();
    const replayed = answerTo(first.challenge, first.address);
    const { address } = first;
    const reflected = (challenge: Uint8Array): Uint8Array => {
      const meeting = { clientNonce: nonceOf(challenge), serverNonce: nonceOf(challenge), host: address };
      return joinFrame({ type: 'proof', nonce: nonceOf(challenge), proof: proofOf(TOKEN, 'server', meeting) });
    };
    const wrong: ((challenge: Uint8Array) => Uint8Array)[] = [
      (challenge) => answerTo(challenge, address, OTHER),
      (challenge) => answerTo(challenge, '127.0.0.1:1'),
      () => replayed,
      reflected,
    ];
    for (const [i, answer] of wrong.entries()) {
      const { send, frame, closed } = await rawWebSocket(first.server.port, { joins: false });
      send(answer(joinFrame((await frame(1)).header as object)));
      expect((await frame(2)).header, `case ${i}`).toMatchObject({ type: 'error', code: 'JoinRefused' });
      expect(await closed).toEqual({ code: 1008, reason: 'JoinRefused' });
    }
    expect(first.requests()).toBe(0);
    expect(first.bugs).toEqual([]);
  });

  const short = joinFrame({ type: 'proof', nonce: new Uint8Array(32), proof: new Uint8Array(31) });
  it.each([
    ['a request', 'BadFrame', 1002, frameBytes({ requestId: 1 })],
    ['a reply', 'BadFrame', 1002, frameBytes({ kind: 'reply', requestId: 1 })],
    ['a challenge', 'BadFrame', 1002, joinFrame({ type: 'challenge', nonce: new Uint8Array(32) })],
    ['a proof that is too short', 'BadFrame', 1002, short],
    ['a proof and more', 'BadFrame', 1002, joinFrame({ type: 'proof', nonce: short, proof: short, more: 1 })],
    ['text in the place of bytes', 'BadFrame', 1002, joinFrame({ type: 'proof', nonce: 'x', proof: 'x' })],
    [
      'a proof with a request id',
      'BadFrame',
      1002,
      joinFrame({ type: 'proof', nonce: new Uint8Array(32), proof: new Uint8Array(32) }, 7),
    ],
    ['a push of a megabyte', 'FrameTooLarge', 1009, pushBytes(1, 1 << 20)],
  ])('closes on %s before the proof', async (_what, code, closeCode, bytes) => {
    const { send, frame, closed, requests, bugs } = await strangerAt();
    send(bytes);
    if (code === 'FrameTooLarge' && process.env.PADDLET_RECEIVE === 'ws') {
      // The library would collect it: it is cut while it comes.
      expect((await closed).code).toBe(1006);
    } else {
      expect((await frame(2)).header).toMatchObject({ type: 'error', code });
      expect(await closed).toEqual({ code: closeCode, reason: code });
    }
    expect(requests()).toBe(0);
    expect(bugs).toEqual([]);
  });

  it('closes on a request that comes with the proof, before the role has proved itself', async () => {
    const slow = Promise.withResolvers<Uint8Array>();
    const { challenge, address, send, frame, closed, requests } = await strangerAt({
      current: () => slow.promise,
      refresh: () => slow.promise,
    });
    send(answerTo(challenge, address));
    send(frameBytes({ requestId: 1 }));
    expect((await frame(2)).header).toMatchObject({ code: 'BadFrame' });
    await closed;
    slow.resolve(TOKEN);
    expect(requests()).toBe(0);
  });

  it('collects no more of a first frame than joining needs', async () => {
    const { server } = await strangerAt();
    const socket = await rawTcp(server.port);
    const all = everythingFrom(socket);
    socket.write(upgradeTo(server.port));
    // A message of 256 MB is announced; of what comes of it the role keeps nothing.
    socket.write(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0]));
    socket.write(new Uint8Array(1 << 20));
    await all;
  });

  it.each(['direct', 'data'] as const)(
    'that reads its sockets itself (%s) refuses a message by its announced size',
    async (receive) => {
      // Time stands still: only the announcement can end this connection.
      const { server } = await rig({ receive, clock: new ManualClock(), handler: () => infoReply });
      const socket = await rawTcp(server.port);
      const all = everythingFrom(socket);
      socket.write(upgradeTo(server.port));
      const header = Buffer.from([0x82, 0xfe, 0, 0, 0, 0, 0, 0]);
      header.writeUInt16BE(LIMITS.joinFrameBytes + 1, 2);
      socket.write(header);
      const closeTooLarge = '\x88\x0f\x03\xf1FrameTooLarge';
      const got = await all;
      expect(got).toContain('a message over the limit of 1024 bytes before joining');
      expect(got).toContain(closeTooLarge);
    },
  );

  it('cuts those who join too late, and those that are oldest when too many have not', async () => {
    const clock = new ManualClock();
    const { server } = await rig({ clock, handler: () => infoReply, limits: { unjoinedConnections: 3 } });
    const silent = await Promise.all([1, 2, 3].map(() => rawWebSocket(server.port, { joins: false })));
    // Each joins at once, and so do not count: a flood of the silent does not keep them out.
    const friends = [await rawWebSocket(server.port), await rawWebSocket(server.port), await rawWebSocket(server.port)];
    await Promise.race(silent.map(({ closed }) => closed));
    const late = await rawWebSocket(server.port, { joins: false });
    for (const { send } of friends) send(frameBytes({}));
    for (const { frame } of friends) expect((await frame(1)).kind).toBe('reply');
    clock.advance(10_000);
    await late.closed;
    for (const { closed } of silent) await closed;
    for (const { ws } of friends) expect(ws.readyState).toBe(ws.OPEN);
  });

  it('asks the store again when a client knows another token, and takes the new one at once', async () => {
    let asked = 0;
    const rotated: JoinToken = {
      current: async () => TOKEN,
      refresh: async () => {
        asked++;
        return OTHER;
      },
    };
    const { challenge, address, send, frame } = await strangerAt(rotated);
    send(answerTo(challenge, address, OTHER));
    expect((await frame(2)).header).toMatchObject({ type: 'welcome' });
    expect(asked).toBe(1);
  });

  it('without a token, before there is a job, lets no client join and says so', async () => {
    const { challenge, address, send, frame } = await strangerAt(NO_JOIN_TOKEN);
    send(answerTo(challenge, address));
    expect((await frame(2)).header).toMatchObject({ code: 'NotReady' });
  });
});

/** A server that is no role: it answers what it is told to. */
async function impostor(answer: (ws: WebSocket, message: Buffer) => void): Promise<string> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => SUBPROTOCOL });
  await once(server, 'listening');
  onTestFinished(() => {
    for (const ws of server.clients) ws.terminate();
    server.close();
  });
  server.on('connection', (ws) => {
    ws.on('message', (message: Buffer) => answer(ws, message));
    ws.send(joinFrame({ type: 'challenge', nonce: new Uint8Array(32).fill(9) }));
  });
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

function client(address: string, joinToken: JoinToken) {
  const timing = { backoff: { firstMs: 1, capMs: 1 } };
  const log = new MemoryLog();
  const channel = createWebSocketNetwork({ clock: realClock, random: fixedRandom, log, timing, joinToken }).connect(
    address,
  );
  onTestFinished(() => channel.close());
  return channel;
}

const LONG = { timeoutMs: 30_000 };

describeOnEveryPath('a client', () => {
  it('sends no request to a peer that does not know the token: not even one that sends its proof back', async () => {
    const kinds: string[] = [];
    const address = await impostor((ws, message) => {
      const { kind, header } = decodeFrame(message);
      kinds.push(kind);
      const { proof } = header as { proof: Uint8Array };
      ws.send(joinFrame({ type: 'welcome', proof }));
    });
    await expect(client(address, testToken).request(info, LONG)).rejects.toMatchObject({ code: 'JoinRefused' });
    expect(kinds).toEqual(['join']);
  });

  it('without a token fails at once, naming the reason', async () => {
    const { address } = await rig({ handler: () => infoReply });
    await expect(client(address, NO_JOIN_TOKEN).request(info, LONG)).rejects.toMatchObject({
      code: 'JoinRefused',
      action: 'refresh',
      message: expect.stringContaining('the store has none'),
    });
  });

  it('of another job fails at once', async () => {
    const { address } = await rig({ handler: () => infoReply });
    await expect(client(address, tokenOf(OTHER)).request(info, LONG)).rejects.toMatchObject({ code: 'JoinRefused' });
  });

  it('that knew the token before it was changed reads the new one and goes through', async () => {
    let known = OTHER;
    const rotated: JoinToken = {
      current: async () => known,
      refresh: async () => {
        known = TOKEN;
        return known;
      },
    };
    const { address } = await rig({ handler: () => infoReply });
    (await client(address, rotated).request(info, LONG)).free();
    expect(known).toBe(TOKEN);
  });

  it('takes a refusal for what it is, whatever the peer says', async () => {
    const error = { type: 'error', code: 'NotReady', message: 'soon', details: {} };
    const refusedOften = Promise.withResolvers<'waits'>();
    let refusals = 0;
    const address = await impostor((ws) => {
      refusals++;
      if (refusals === 4) refusedOften.resolve('waits');
      if (refusals < 3) ws.send(bytesOf({ kind: 'error', requestId: 0, header: error, segments: [] }));
      else ws.terminate();
    });
    const request = client(address, testToken).request(info, LONG);
    // It has been refused in both ways, and tries again.
    expect(await Promise.race([request.catch((error: unknown) => error), refusedOften.promise])).toBe('waits');
  });

  it('established connections keep working when the token changes', async () => {
    let now = TOKEN;
    const changing: JoinToken = { current: async () => now, refresh: async () => now };
    const { address } = await rig({ handler: () => infoReply, joinToken: changing });
    const channel = client(address, changing);
    (await channel.request(info, LONG)).free();
    now = OTHER;
    (await channel.request(info, LONG)).free();
    (await client(address, changing).request(info, LONG)).free();
    await expect(client(address, testToken).request(info, LONG)).rejects.toMatchObject({ code: 'JoinRefused' });
  });
});
