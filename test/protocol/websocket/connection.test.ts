import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Channel } from '../../../src/protocol/messages/channel.ts';
import { createWebSocketNetwork } from '../../../src/protocol/websocket/network.ts';
import { testToken } from '../join.ts';
import { relayTo } from '../proxy.ts';
import {
  applied,
  deferred,
  describeOnEveryPath,
  fixedRandom,
  getTask,
  holding,
  info,
  infoReply,
  ManualClock,
  MemoryLog,
  numbered,
  realClock,
  rig,
  throughRelay,
} from '../rig.ts';
import { frameBytes, rawWebSocket } from '../stranger.ts';

const LONG = { timeoutMs: 30_000 };
const push = (channel: Channel, n: number, bytes = 0) =>
  channel.request(numbered(n, bytes === 0 ? [] : [new Uint8Array(bytes)]), LONG).then((answer) => answer.free());

describeOnEveryPath('lost connections', () => {
  it('fail what was sent with ConnectionLost; what waited is sent over the next one', async () => {
    const { handler, seen, release } = holding();
    const served: number[] = [];
    const { server, log } = await rig({
      ...throughRelay,
      limits: { requestsInFlight: 2 },
      handler: (request, session) => {
        if (request.header.type === 'push') served.push(request.header.task);
        return handler(request, session);
      },
    });
    const relay = await relayTo(server.port);
    const network = createWebSocketNetwork({
      clock: realClock,
      random: fixedRandom,
      joinToken: testToken,
      log,
      limits: { requestsInFlight: 2 },
      timing: { backoff: { firstMs: 1, capMs: 5 } },
    });
    const channel = network.connect(relay.address);
    const outcomes = [1, 2, 3].map((n) =>
      push(channel, n).then(
        () => 'answered',
        (error) => error.code,
      ),
    );
    await seen(1);
    relay.cut();
    expect(await Promise.all(outcomes.slice(0, 2))).toEqual(['ConnectionLost', 'ConnectionLost']);
    release();
    expect(await outcomes[2]).toBe('answered');
    expect(relay.accepted).toBe(2);
    expect(served.at(-1)).toBe(3);
    channel.close();
  });

  it('are made again when the server comes back on its port', async () => {
    const first = await rig({ handler: () => applied });
    const network = createWebSocketNetwork({
      clock: realClock,
      random: fixedRandom,
      joinToken: testToken,
      log: first.log,
      timing: { backoff: { firstMs: 1, capMs: 5 } },
    });
    const channel = network.connect(first.address);
    await push(channel, 1);
    await first.server.close();
    const waiting = push(channel, 2);
    await first.log.said(/no connection to .*ECONNREFUSED/);
    await rig({ handler: () => applied, listen: first.address });
    await waiting;
    await first.log.said(/info connected to/);
    channel.close();
  });

  it('half-open ones are noticed on both ends', async () => {
    const clock = new ManualClock();
    const ended = deferred();
    const { seen, handler } = holding();
    const { server, log } = await rig({
      ...throughRelay,
      clock,
      handler: (request, session) => {
        session.onClosed(ended.resolve);
        return handler(request, session);
      },
    });
    const relay = await relayTo(server.port);
    const channel = createWebSocketNetwork({ clock, random: fixedRandom, joinToken: testToken, log }).connect(
      relay.address,
    );
    const lost = channel.request(numbered(1), { timeoutMs: 1e9 });
    await seen(1);
    relay.freeze();
    const failed = expect(lost).rejects.toMatchObject({
      code: 'ConnectionLost',
      message: expect.stringContaining('silent'),
    });
    clock.advance(60_000);
    await failed;
    await ended.promise;
    channel.close();
  });

  it('idle ones stay as long as pings are answered, and are cut when they are not', async () => {
    const clock = new ManualClock();
    const { server, log } = await rig({ clock, handler: () => infoReply });
    const alive = await rawWebSocket(server.port);
    const dead = await rawWebSocket(server.port, { autoPong: false });
    for (const { send, frame } of [alive, dead]) {
      send(frameBytes({}));
      await frame(1);
    }
    let pings = 0;
    alive.ws.on('ping', () => pings++);
    for (let i = 1; i <= 20; i++) {
      clock.advance(3_000);
      while (pings < i) await turn();
      for (let turns = 0; turns < 5; turns++) await turn();
    }
    await dead.closed;
    expect(log.lines.filter((line) => /silent/.test(line))).toHaveLength(1);
    expect(alive.ws.readyState).toBe(alive.ws.OPEN);
  });
});

describeOnEveryPath('time limits', () => {
  it('end a request that could not be sent, saying why', async () => {
    const clock = new ManualClock();
    const { address, server } = await rig({ handler: () => applied });
    await server.close();
    const log = new MemoryLog();
    const channel = createWebSocketNetwork({ clock, random: fixedRandom, joinToken: testToken, log }).connect(address);
    const request = channel.request(numbered(1), { timeoutMs: 10 });
    const failed = expect(request).rejects.toMatchObject({
      code: 'RequestTimeout',
      message: expect.stringContaining('not sent: ECONNREFUSED'),
    });
    await log.said(/no connection/);
    clock.advance(10);
    await failed;
    channel.close();
    expect(clock.pending).toBe(0);
  });

  it('end one that is not answered; its place is taken until it is, and its late answer goes nowhere', async () => {
    const clock = new ManualClock();
    const { handler, seen, release } = holding();
    const { connect } = await rig({ clock, handler, limits: { requestsInFlight: 1 } });
    const channel = connect();
    const request = channel.request(numbered(1), { timeoutMs: 10 });
    const failed = expect(request).rejects.toMatchObject({
      code: 'RequestTimeout',
      message: expect.stringContaining('sent, not'),
    });
    await seen(1);
    clock.advance(10);
    await failed;
    const second = channel.request(numbered(2), { timeoutMs: 10 });
    const refused = expect(second).rejects.toMatchObject({ message: expect.stringContaining('no room') });
    clock.advance(10);
    await refused;
    release();
    await channel.request(info, { timeoutMs: 10 });
  });

  it('cut the connection when a request is half-way out, since its memory is the caller’s again', async () => {
    const clock = new ManualClock();
    const { server, log } = await rig({ ...throughRelay, handler: () => applied });
    const relay = await relayTo(server.port);
    const network = createWebSocketNetwork({
      clock,
      random: fixedRandom,
      joinToken: testToken,
      log,
      timing: { pingIntervalMs: 1e12 },
    });
    const channel = network.connect(relay.address);
    await channel.request(numbered(1), { timeoutMs: 1 });
    relay.freeze();
    const large = channel.request(numbered(2, [new Uint8Array(64 << 20)]), { timeoutMs: 10 });
    const other = channel.request(numbered(3), { timeoutMs: 1e9 });
    const failures = Promise.allSettled([large, other]);
    clock.advance(10);
    expect(await failures).toMatchObject([
      { reason: { code: 'RequestTimeout' } },
      { reason: { code: 'ConnectionLost' } },
    ]);
    channel.close();
  });
});

describeOnEveryPath('closing', () => {
  it('a channel fails what is unanswered and what comes after', async () => {
    const { handler, seen } = holding();
    const { connect } = await rig({ handler });
    const channel = connect();
    const request = push(channel, 1);
    await seen(1);
    const failed = expect(request).rejects.toMatchObject({ code: 'ConnectionLost' });
    channel.close();
    await failed;
    await expect(push(channel, 2)).rejects.toMatchObject({ code: 'ConnectionLost' });
  });

  it('a server answers what runs, refuses what has not begun, then ends', async () => {
    const { handler, seen, release } = holding();
    const { connect, server } = await rig({ handler, limits: { requestsInFlight: 10 } });
    const channel = connect();
    const outcomes = [1, 2, 3].map((n) =>
      push(channel, n).then(
        () => 'answered',
        (error) => error.code,
      ),
    );
    await seen(1);
    // The two behind it have come too when a later connection is served.
    await connect().request(info, LONG);
    const closed = server.close();
    release();
    await closed;
    expect(await Promise.all(outcomes)).toEqual(['answered', 'Draining', 'Draining']);
  });

  it('a server waits for requests that wait, but not for ever', async () => {
    const clock = new ManualClock();
    const { handler, seen } = holding();
    const { connect, server } = await rig({ clock, handler });
    const lost = connect().request(getTask, { timeoutMs: 1e9 });
    const failed = expect(lost).rejects.toMatchObject({ code: 'ConnectionLost' });
    await seen(1);
    const closed = server.close();
    clock.advance(10_000);
    await closed;
    await failed;
  });

  it('a server does not wait longer because requests still come', async () => {
    const clock = new ManualClock();
    const { handler, seen } = holding();
    const { server } = await rig({ clock, handler });
    const client = await rawWebSocket(server.port);
    client.send(frameBytes({ header: getTask.header }));
    await seen(1);
    const closed = server.close();
    client.send(frameBytes({ requestId: 2 }));
    expect((await client.frame(1)).header).toMatchObject({ code: 'Draining' });
    clock.advance(10_000);
    await closed;
  });
});

describeOnEveryPath('traffic', () => {
  it('counts the frames of both directions with their headers and payloads, equally at both ends', async () => {
    const serverTraffic = { sentBytes: 0, receivedBytes: 0 };
    const clientTraffic = { sentBytes: 0, receivedBytes: 0 };
    const { server, log } = await rig({ ...throughRelay, handler: () => applied, traffic: serverTraffic });
    const network = createWebSocketNetwork({
      clock: realClock,
      random: fixedRandom,
      joinToken: testToken,
      log,
      traffic: clientTraffic,
    });
    const channel = network.connect(`127.0.0.1:${server.port}`);
    await push(channel, 1, 100_000);
    await push(channel, 2, 100_000);
    channel.close();
    expect(clientTraffic.sentBytes).toBeGreaterThan(200_000);
    expect(clientTraffic.sentBytes).toBeLessThan(202_000);
    expect(clientTraffic.receivedBytes).toBeGreaterThan(0);
    expect(clientTraffic.receivedBytes).toBeLessThan(2_000);
    expect(serverTraffic).toEqual({
      sentBytes: clientTraffic.receivedBytes,
      receivedBytes: clientTraffic.sentBytes,
    });
  });
});
