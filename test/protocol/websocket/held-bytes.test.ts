/** What many connections together make a role hold: each stays within its own bounds. */
import { expect, it } from 'vitest';
import type { LIMITS } from '../../../src/base/limits.ts';
import { HeldBytes } from '../../../src/protocol/websocket/held-bytes.ts';
import { applied, describeOnEveryPath, holding, infoReply, ManualClock, rig } from '../rig.ts';
import { frameBytes, pushBytes, type RawWebSocket, rawWebSocket } from '../stranger.ts';

const PAYLOAD = 60_000;
const PATIENCE_MS = 1_000;
const limits = {
  frameBytes: 64 << 10,
  sendQueueBytes: 128 << 10,
  heldBytes: 200_000,
  requestsInFlight: 10,
} satisfies Partial<Record<keyof typeof LIMITS, number>>;

const codesOf = ({ frames }: RawWebSocket) => frames.map(({ header }) => (header as { code?: string }).code ?? 'ok');

describeOnEveryPath('held bytes', () => {
  it('a request beyond what all connections may hold is refused, until others are answered', async () => {
    const { handler, seen, release } = holding();
    const { server } = await rig({ handler, limits });
    const [a, b, c] = await Promise.all([1, 2, 3].map(() => rawWebSocket(server.port)));
    for (const client of [a!, b!, c!]) client.send(pushBytes(1, PAYLOAD));
    await seen(3);
    c!.send(pushBytes(2, PAYLOAD));
    expect(codesOf({ ...c!, frames: [await c!.frame(1)] })).toEqual(['Overloaded']);
    release();
    for (const client of [a!, b!]) await client.frame(1);
    await c!.frame(2);
    c!.send(pushBytes(3, PAYLOAD));
    await c!.frame(3);
    expect(codesOf(c!)).toEqual(['Overloaded', 'ok', 'ok']);
  });

  it('a connection that keeps the others out is cut', async () => {
    const clock = new ManualClock();
    const { handler, seen } = holding();
    const { server, log } = await rig({ handler, limits, clock, timing: { heldPatienceMs: PATIENCE_MS } });
    const [a, b] = await Promise.all([1, 2].map(() => rawWebSocket(server.port)));
    for (const client of [a!, b!]) client.send(pushBytes(1, PAYLOAD));
    b!.send(pushBytes(2, PAYLOAD));
    await seen(2);
    const other = await rawWebSocket(server.port);
    other.send(pushBytes(1, PAYLOAD));
    await other.frame(1);
    clock.advance(PATIENCE_MS);
    other.send(pushBytes(2, PAYLOAD));
    await Promise.all([a!.closed, b!.closed, log.said(/holds memory while other requests are refused/)]);
    other.send(frameBytes({ requestId: 3 }));
    await other.frame(3);
    expect(codesOf(other)).toEqual(['Overloaded', 'Overloaded', 'ok']);
  });
});

it('frames that never end count, and cost their connections', async () => {
  const clock = new ManualClock();
  const { server } = await rig({
    handler: () => infoReply,
    limits,
    clock,
    receive: 'direct',
    timing: { heldPatienceMs: PATIENCE_MS },
  });
  const slow = await Promise.all([1, 2, 3].map(() => rawWebSocket(server.port)));
  for (const { ws } of slow) ws.send(pushBytes(1, PAYLOAD).subarray(0, PAYLOAD / 2), { fin: false });
  const other = await rawWebSocket(server.port);
  /** Until the beginnings of all three have come. */
  for (let id = 1; codesOf(other).at(-1) !== 'Overloaded'; id++) {
    other.send(pushBytes(id, PAYLOAD));
    await other.frame(id);
  }
  clock.advance(PATIENCE_MS);
  const asked = other.frames.length;
  other.send(pushBytes(asked + 1, PAYLOAD));
  await Promise.all(slow.map(({ closed }) => closed));
  other.send(pushBytes(asked + 2, PAYLOAD));
  await other.frame(asked + 2);
  expect(codesOf(other).slice(asked)).toEqual(['Overloaded', 'ok']);
});

it('answers that are not read count: no more are made', async () => {
  let made = 0;
  const answer = new Uint8Array(1 << 20);
  const few = { frameBytes: 2 << 20, sendQueueBytes: 128 << 20, heldBytes: 32 << 20, requestsInFlight: 64 };
  const { server } = await rig({
    limits: few,
    handler: ({ header }) => {
      if (header.type !== 'info') return applied;
      made++;
      return { ...infoReply, segments: [answer] };
    },
  });
  const clients = await Promise.all(Array.from({ length: 4 }, () => rawWebSocket(server.port)));
  for (const { ws } of clients) ws.pause();
  const other = await rawWebSocket(server.port);
  let asked = 0;
  const ask = (): void => {
    asked++;
    for (const client of clients) client.send(frameBytes({ requestId: asked }));
  };
  while (asked < 60) ask();
  for (let id = 1; codesOf(other).at(-1) !== 'Overloaded'; id++) {
    other.send(pushBytes(id, 8));
    await other.frame(id);
    // What the kernel's socket buffers take is no memory of the role. They may take some of it late.
    ask();
  }
  // Each connection alone could have all 60.
  expect(made).toBeLessThan(clients.length * asked);
});

it('the time of a holder begins again when it holds nothing, and when there was room for a while', () => {
  const clock = new ManualClock();
  const cut: string[] = [];
  const held = new HeldBytes(clock, { limit: 10, patienceMs: PATIENCE_MS });
  const [idle, busy] = ['idle', 'busy'].map((name) => held.enter(() => cut.push(name)));
  idle!.add(6);
  busy!.add(4);
  expect(held.hasRoom(1)).toBe(false);
  clock.advance(PATIENCE_MS / 2);
  busy!.add(-4);
  busy!.add(4);
  expect(held.hasRoom(1)).toBe(false);
  clock.advance(PATIENCE_MS / 2);
  expect([held.hasRoom(1), cut]).toEqual([false, ['idle']]);
  held.leave(idle!);
  expect([held.hasRoom(1), held.bytes]).toEqual([true, 4]);
  busy!.add(6);
  clock.advance(2 * PATIENCE_MS);
  expect([held.hasRoom(1), cut]).toEqual([false, ['idle']]);
  idle!.add(-6);
  expect(held.bytes).toBe(10);
});
