/** Memory for payloads is asked for once a frame and given back exactly once, however the request ends. */
import { expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { ReplyHeader } from '../../../src/protocol/messages/all-messages.ts';
import type { LandingAllocator, Outgoing, RequestHandler } from '../../../src/protocol/messages/channel.ts';
import { deferred, describeOnEveryPath, ManualClock, numbered, rig } from '../rig.ts';
import { frameBytes, pushBytes, rawWebSocket } from '../stranger.ts';

/** No request here is to fail for being slow: the clock is real. */
const LONG = { timeoutMs: 600_000 };
const applied: Outgoing<ReplyHeader> = { header: { type: 'push', outcome: 'applied', recovery: 0 } };
const payload = (): Uint8Array => new Uint8Array(new Float32Array([1, 2, 3]).buffer);

/** Memory at odd places of a WebAssembly memory, that counts how often each piece is given back. */
function counting(): { allocate: LandingAllocator; frees: number[]; allFreed(): Promise<void> } {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 64 });
  const frees: number[] = [];
  const waiters: (() => void)[] = [];
  let top = 8;
  const settled = (): boolean => frees.every((count) => count > 0);
  return {
    frees,
    allocate: (byteLength) => {
      const at = top;
      top += Math.ceil(byteLength / 8) * 8 + 8;
      const n = frees.push(0) - 1;
      return {
        byteLength,
        bytes: () => new Uint8Array(memory.buffer, at, byteLength),
        free: () => {
          frees[n] = frees[n]! + 1;
          if (settled()) for (const resolve of waiters) resolve();
        },
      };
    },
    allFreed: () => (settled() ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  };
}

async function server(handler: RequestHandler) {
  const memory = counting();
  const started = await rig({ handler, landing: memory.allocate });
  /** Ends everything, then every piece must have been given back once. */
  const settle = async (pieces: number): Promise<void> => {
    await started.server.close();
    await memory.allFreed();
    expect(memory.frees).toEqual(Array(pieces).fill(1));
  };
  return { ...started, memory, settle };
}

describeOnEveryPath('landing of requests', () => {
  it('puts the payload there, with views at multiples of 8', async () => {
    let seen: unknown;
    const { connect, settle } = await server((request) => {
      const second = request.segment(1);
      expect(second.byteOffset % 8).toBe(0);
      expect(second.buffer.byteLength).toBe(64 * 65_536);
      seen = [...new Float32Array(second.buffer, second.byteOffset, second.byteLength / 4)];
      return applied;
    });
    (await connect().request(numbered(1, [new Uint8Array(3), payload()]), LONG)).free();
    expect(seen).toEqual([1, 2, 3]);
    await settle(1);
  });

  it('is told of all bytes as they come, before the request is handled', async () => {
    const told: number[] = [];
    let toldBefore = 0;
    const block = new ArrayBuffer(2 ** 20);
    const { connect, server: listening } = await rig({
      handler: () => {
        toldBefore = told.at(-1) ?? 0;
        return applied;
      },
      landing: (byteLength) => ({
        byteLength,
        fixed: true,
        bytes: () => new Uint8Array(block, 0, byteLength),
        arrived: (count) => void told.push(count),
        free: () => {},
      }),
    });
    (await connect().request(numbered(1, [new Uint8Array(700_000).fill(7)]), LONG)).free();
    expect(told).toEqual([...told].sort((a, b) => a - b));
    expect(toldBefore).toBe(700_000);
    expect(new Uint8Array(block, 0, 700_000).every((byte) => byte === 7)).toBe(true);
    await listening.close();
  });

  it.each([
    ['while it comes', (move: () => void) => move()],
    ['between two reads', (move: () => void) => void setImmediate(move)],
  ])('goes to the new place when the memory moves %s, and not to the old one', async (_when, soon) => {
    const byteLength = 2_000_000;
    const overwritten = new Uint8Array(byteLength).fill(0xff);
    let place = new Uint8Array(byteLength);
    const left: Uint8Array[] = [];
    let moved = (): void => {};
    let isFreed = false;
    const move = (): void => {
      if (isFreed) return;
      left.push(place);
      place = place.slice();
      left.at(-1)!.fill(0xff);
      moved();
    };
    const payload = Uint8Array.from({ length: byteLength }, (_, i) => i % 251);
    let seen: Uint8Array | undefined;
    const { connect, server: listening } = await rig({
      handler: (request) => {
        seen = request.segment(0).slice();
        return applied;
      },
      landing: () => ({
        byteLength,
        bytes: () => place,
        onMoved: (run) => {
          moved = run;
        },
        arrived: () => soon(move),
        free: () => {
          isFreed = true;
        },
      }),
    });
    (await connect().request(numbered(1, [payload]), LONG)).free();
    expect(Buffer.compare(seen!, payload)).toBe(0);
    // `ws` hands over whole messages.
    if (process.env.PADDLET_RECEIVE !== 'ws') expect(left.length).toBeGreaterThan(2);
    for (const old of left) expect(Buffer.compare(old, overwritten)).toBe(0);
    await listening.close();
  });

  it('leaves what it has no place for to the network', async () => {
    let seen = 0;
    const { connect, server: listening } = await rig({
      handler: (request) => {
        seen = request.segment(0)[99_999]!;
        return applied;
      },
      landing: () => undefined,
    });
    (await connect().request(numbered(1, [new Uint8Array(100_000).fill(9)]), LONG)).free();
    expect(seen).toBe(9);
    await listening.close();
  });

  it('is not asked for frames without payload', async () => {
    const { connect, settle } = await server(() => applied);
    (await connect().request(numbered(1), LONG)).free();
    (await connect().request(numbered(1, [new Uint8Array(0)]), LONG)).free();
    await settle(0);
  });

  it('is freed once when the handler has freed it already', async () => {
    const { connect, settle } = await server((request) => {
      request.free();
      request.free();
      return applied;
    });
    (await connect().request(numbered(1, [payload()]), LONG)).free();
    await settle(1);
  });

  it('stays until an answer made of it was sent', async () => {
    const { connect, settle, memory } = await server((request) => ({ ...applied, segments: [request.segment(0)] }));
    const large = new Uint8Array(2_000_000).fill(9);
    const answer = await connect().request(numbered(1, [large]), LONG);
    expect(Buffer.compare(answer.segment(0), large)).toBe(0);
    await memory.allFreed();
    await settle(1);
  });

  it.each([
    ['PaddletError', new PaddletError('WrongShard', 'not mine')],
    ['bug', new TypeError('a bug')],
  ])('is freed after a %s, thrown or rejected', async (_what, error) => {
    const { connect, settle } = await server((request) => {
      if (request.header.type === 'push' && request.header.task === 1) throw error;
      return Promise.reject(error);
    });
    const channel = connect();
    await expect(channel.request(numbered(1, [payload()]), LONG)).rejects.toThrow();
    await expect(channel.request(numbered(2, [payload()]), LONG)).rejects.toThrow();
    await settle(2);
  });

  it('is freed when the header is no message, when padding is wrong and when a client sends a reply', async () => {
    const { server: listening, settle } = await server(() => applied);
    const first = await rawWebSocket(listening.port);
    first.send(frameBytes({ header: { type: 'nonsense' }, segments: [payload()] }));
    expect((await first.frame(1)).header).toMatchObject({ code: 'BadMessage' });
    const badPadding = pushBytes(2, 12);
    badPadding[badPadding.length - 1] = 1;
    first.send(badPadding);
    expect((await first.closed).reason).toBe('BadFrame');
    const second = await rawWebSocket(listening.port);
    second.send(frameBytes({ kind: 'reply', segments: [payload()] }));
    expect((await second.closed).reason).toBe('BadFrame');
    await settle(3);
  });

  it('is freed when the connection goes while requests run and wait', async () => {
    const gate = deferred<Outgoing<ReplyHeader>>();
    const running = deferred();
    const ended = deferred();
    const { server: listening, settle } = await server((_request, session) => {
      session.onClosed(ended.resolve);
      running.resolve();
      return gate.promise;
    });
    const client = await rawWebSocket(listening.port);
    for (let id = 1; id <= 5; id++) client.send(pushBytes(id, 100));
    client.ws.ping();
    // The server has read all five when it answers the ping behind them.
    await Promise.all([running.promise, new Promise((resolve) => client.ws.once('pong', resolve))]);
    client.ws.terminate();
    await ended.promise;
    gate.resolve(applied);
    await settle(5);
  });

  it('that cannot be had refuses the request and nothing else', async () => {
    let full = true;
    const memory = counting();
    const { connect, server: listening } = await rig({
      handler: () => applied,
      landing: (byteLength) => {
        if (full) throw new PaddletError('OutOfMemory', 'the budget is used up');
        return memory.allocate(byteLength);
      },
    });
    const channel = connect();
    await expect(channel.request(numbered(1, [payload()]), LONG)).rejects.toMatchObject({ code: 'OutOfMemory' });
    full = false;
    (await channel.request(numbered(2, [payload()]), LONG)).free();
    await listening.close();
    expect(memory.frees).toEqual([1]);
  });
});

describeOnEveryPath('landing of answers', () => {
  const withPayload: RequestHandler = () => ({ ...applied, segments: [payload()] });

  it('is the caller’s, who frees it', async () => {
    const memory = counting();
    const { connect } = await rig({ handler: withPayload });
    const answer = await connect({ landing: memory.allocate }).request(numbered(1), LONG);
    expect(memory.frees).toEqual([0]);
    expect(new Uint8Array(answer.segment(0))).toEqual(payload());
    answer.free();
    answer.free();
    expect(memory.frees).toEqual([1]);
  });

  it('is not asked for when no call waits for the answer any more', async () => {
    const memory = counting();
    const clock = new ManualClock();
    const gate = deferred<Outgoing<ReplyHeader>>();
    const begun = deferred();
    const { connect } = await rig({
      clock,
      handler: (request, session) => {
        begun.resolve();
        return request.header.type === 'push' && request.header.task === 1
          ? gate.promise
          : withPayload(request, session);
      },
    });
    const channel = connect({ landing: memory.allocate });
    const late = expect(channel.request(numbered(1), { timeoutMs: 5 })).rejects.toMatchObject({
      code: 'RequestTimeout',
    });
    await begun.promise;
    clock.advance(5);
    await late;
    gate.resolve({ ...applied, segments: [payload()] });
    (await channel.request(numbered(2), LONG)).free();
    expect(memory.frees).toEqual([1]);
  });

  it('is freed when the answer is of the wrong type, and when memory is short the call fails', async () => {
    const memory = counting();
    const { connect } = await rig({ handler: () => ({ header: { type: 'info', info: {} }, segments: [payload()] }) });
    const wrong = connect({ landing: memory.allocate }).request(numbered(1), LONG);
    await expect(wrong).rejects.toMatchObject({ code: 'BadMessage' });
    expect(memory.frees).toEqual([1]);
    const none: LandingAllocator = () => {
      throw new PaddletError('OutOfMemory', 'no room');
    };
    await expect(connect({ landing: none }).request(numbered(1), LONG)).rejects.toMatchObject({ code: 'OutOfMemory' });
  });
});

describeOnEveryPath('memory for answers', () => {
  it('is lent until the answer was sent, then lent again, whatever became of the request', async () => {
    const lent: Uint8Array[] = [];
    const { connect } = await rig({
      handler: (request) => {
        const memory = request.answerMemory!(100_000);
        expect(memory.byteOffset % 8).toBe(0);
        lent.push(memory);
        if (request.header.type === 'push' && request.header.task === 1) throw new PaddletError('NotReady', 'not yet');
        memory.fill(lent.length);
        return { ...applied, segments: [memory] };
      },
    });
    const channel = connect();
    await expect(channel.request(numbered(1), LONG)).rejects.toMatchObject({ code: 'NotReady' });
    for (const n of [2, 3, 4]) {
      const answer = await channel.request(numbered(n), LONG);
      expect(answer.segment(0).every((byte) => byte === n)).toBe(true);
      answer.free();
    }
    // Answers that wait to be sent at the same time are in memory of their own.
    const several = await Promise.all([5, 6, 7].map((n) => channel.request(numbered(n), LONG)));
    several.forEach((answer, i) => {
      expect(answer.segment(0).every((byte) => byte === 5 + i)).toBe(true);
      answer.free();
    });
    expect(new Set(lent.slice(0, 4).map(({ buffer }) => buffer)).size).toBeLessThan(4);
  });
});
