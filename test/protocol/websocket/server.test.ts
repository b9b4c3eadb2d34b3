import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { RequestHandler } from '../../../src/protocol/messages/channel.ts';
import { createWebSocketNetwork } from '../../../src/protocol/websocket/network.ts';
import { SUBPROTOCOL } from '../../../src/protocol/websocket/version.ts';
import { testToken } from '../join.ts';
import { describeOnEveryPath, fixedRandom, ManualClock, MemoryLog, realClock, rig } from '../rig.ts';
import { everythingFrom, frameBytes, rawTcp, rawWebSocket, upgradeTo } from '../stranger.ts';

const handler: RequestHandler = () => ({ header: { type: 'info', info: {} } });
const http = async (path: string) => {
  if (path === '/bug') throw new TypeError('a bug');
  return path === '/healthz' ? { status: 200, contentType: 'text/plain', body: 'ok é\n' } : undefined;
};

describeOnEveryPath('HTTP on the same port', () => {
  it('answers GET and HEAD, refuses the rest, and reports bugs', async () => {
    const { address, bugs } = await rig({ handler, http });
    const ask = async (path: string, method = 'GET') => {
      const response = await fetch(`http://${address}${path}`, { method });
      return [response.status, await response.text()];
    };
    expect(await ask('/healthz?verbose=1')).toEqual([200, 'ok é\n']);
    expect(await ask('/healthz', 'HEAD')).toEqual([200, '']);
    expect(await ask('/nothing')).toEqual([404, 'not found\n']);
    expect(await ask('/healthz', 'POST')).toEqual([405, 'only GET\n']);
    expect(bugs).toEqual([]);
    expect(await ask('/bug')).toEqual([500, 'internal error\n']);
    expect(bugs).toEqual([new TypeError('a bug')]);
  });
});

describeOnEveryPath('listening', () => {
  it('says which port is in use, and what to do', async () => {
    const { address, log } = await rig({ handler });
    const network = createWebSocketNetwork({ clock: realClock, random: fixedRandom, joinToken: testToken, log });
    await expect(network.listen({ listen: address, handler, http })).rejects.toMatchObject({
      code: 'PortInUse',
      message: expect.stringContaining(address),
      hint: expect.stringContaining('port 0'),
    });
  });

  it('refuses addresses that are not of this machine, or no addresses', async () => {
    const network = createWebSocketNetwork({
      clock: realClock,
      random: fixedRandom,
      joinToken: testToken,
      log: new MemoryLog(),
    });
    await expect(network.listen({ listen: '192.0.2.1:0', handler, http })).rejects.toMatchObject({ code: 'Usage' });
    await expect(network.listen({ listen: 'nowhere', handler, http })).rejects.toMatchObject({ code: 'Usage' });
    expect(() => network.connect('127.0.0.1:0')).toThrowError(expect.objectContaining({ code: 'Usage' }));
  });

  it('works over IPv6', async () => {
    const { server, log } = await rig({ handler, listen: '[::1]:0' });
    const channel = createWebSocketNetwork({
      clock: realClock,
      random: fixedRandom,
      joinToken: testToken,
      log,
    }).connect(`[::1]:${server.port}`);
    await channel.request({ header: { type: 'info' } }, { timeoutMs: 30_000 });
    channel.close();
  });

  it.each([
    ['another subprotocol', 'paddlet.v9'],
    ['no subprotocol', undefined],
  ])('refuses a handshake with %s', async (_what, subprotocol) => {
    const { address } = await rig({ handler });
    const ws = new WebSocket(`ws://${address}/`, subprotocol === undefined ? [] : [subprotocol]);
    const [, response] = await once(ws, 'unexpected-response');
    expect(response.statusCode).toBe(400);
    ws.on('error', () => {});
    ws.terminate();
  });

  it('refuses connections over the limit, and still answers probes', async () => {
    const { server, address, log } = await rig({ handler, http, limits: { connectionsPerRole: 2 } });
    const [first] = await Promise.all([rawWebSocket(server.port), rawWebSocket(server.port)]);
    const third = new WebSocket(`ws://${address}/`, SUBPROTOCOL);
    const [, response] = await once(third, 'unexpected-response');
    third.on('error', () => {});
    third.terminate();
    expect(response.statusCode).toBe(503);
    expect((await fetch(`http://${address}/healthz`)).status).toBe(200);
    expect(log.lines.some((line) => /too many/.test(line))).toBe(true);
    first.ws.terminate();
    await first.closed;
    const next = await rawWebSocket(server.port);
    next.send(frameBytes({}));
    expect((await next.frame(1)).kind).toBe('reply');
  });
});

describeOnEveryPath('time limits of strangers', () => {
  it.each([
    ['say nothing', ''],
    ['never end a request line', 'GET /heal'],
    ['never end the headers', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: '],
    ['never end a handshake', 'GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'],
  ])('cut those who %s', async (_what, text) => {
    const clock = new ManualClock();
    const { server } = await rig({ handler, clock });
    const socket = await rawTcp(server.port);
    socket.write(text);
    const all = everythingFrom(socket);
    // A later connection that was served shows that the one before it was accepted.
    await fetch(`http://127.0.0.1:${server.port}/`);
    clock.advance(9_999);
    socket.write('y');
    clock.advance(1);
    expect(await all).toBe('');
  });

  it('cut those who never send a whole frame', async () => {
    const clock = new ManualClock();
    const { server } = await rig({ handler, clock, timing: { pingIntervalMs: 1e12 } });
    const silent = await rawWebSocket(server.port);
    const slow = await rawWebSocket(server.port);
    slow.ws.send(frameBytes({}).subarray(0, 10), { fin: false });
    const speaking = await rawWebSocket(server.port);
    speaking.send(frameBytes({}));
    await speaking.frame(1);
    clock.advance(10_000);
    await Promise.all([silent.closed, slow.closed]);
    expect(speaking.ws.readyState).toBe(WebSocket.OPEN);
  });

  it('cut those who break the rules and do not close', async () => {
    const clock = new ManualClock();
    const { server } = await rig({ handler, clock });
    const socket = await rawTcp(server.port);
    const all = everythingFrom(socket);
    const tooLarge = Buffer.from([0x03, 0xf1]);
    const refused = new Promise<void>((resolve) => {
      socket.on('data', (chunk: Buffer) => chunk.includes(tooLarge) && resolve());
    });
    socket.write(
      Buffer.concat([Buffer.from(upgradeTo(server.port)), Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0xb2, 0xd0, 0x5e, 0])]),
    );
    await refused;
    clock.advance(1_000);
    await all;
  });

  it.each([
    ['a request', ''],
    ['a handshake', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
  ])('closing hears %s that comes in the same moment', async (_, fields) => {
    const { server, bugs } = await rig({ handler, http });
    const { port } = server;
    const closed = Promise.withResolvers<void>();
    const door = createServer((socket) => socket.once('data', () => void server.close().then(closed.resolve)));
    await once(door.listen(0, '127.0.0.1'), 'listening');
    const closing = await rawTcp((door.address() as AddressInfo).port);
    const socket = await rawTcp(port);
    const end = everythingFrom(socket);
    socket.write('GET /healthz HTTP/1.1\r\n');
    // By then the server has read that and accepted both: one look of the event loop finds what comes from both.
    await fetch(`http://127.0.0.1:${port}/healthz`);
    closing.write('now');
    socket.write(`Host: 127.0.0.1:${port}\r\n${fields}\r\n`);
    await closed.promise;
    await end;
    closing.destroy();
    await once(door.close(), 'close');
    expect(bugs).toEqual([]);
  });

  it('closing does not wait for those who say nothing', async () => {
    const { server } = await rig({ handler });
    const sockets = await Promise.all([rawTcp(server.port), rawTcp(server.port)]);
    const ends = sockets.map(everythingFrom);
    await fetch(`http://127.0.0.1:${server.port}/`);
    await server.close();
    await Promise.all(ends);
  });
});
