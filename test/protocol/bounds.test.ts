import { expect, it } from 'vitest';
import type { Channel } from '../../src/protocol/messages/channel.ts';
import type { WebSocketChannel } from '../../src/protocol/websocket/channel.ts';
import { applied, describeOnEveryPath, holding, numbered, rig } from './rig.ts';
import { frameBytes, pushBytes, rawWebSocket } from './stranger.ts';

const LONG = { timeoutMs: 30_000 };
const push = (channel: Channel, n: number, bytes = 0) =>
  channel.request(numbered(n, bytes === 0 ? [] : [new Uint8Array(bytes)]), LONG).then((answer) => answer.free());

describeOnEveryPath('bounds', () => {
  it('requests wait while too many bytes or requests are unanswered', async () => {
    const limits = { frameBytes: 64 << 10, sendQueueBytes: 128 << 10, requestsInFlight: 10 };
    let most = 0;
    let mostAtOnce = 0;
    let unanswered = 0;
    const { connect } = await rig({ handler: () => applied, limits });
    const channel = connect() as WebSocketChannel;
    await Promise.all(
      Array.from({ length: 600 }, async (_, n) => {
        const answer = push(channel, n, n < 300 ? 20_000 : 8);
        most = Math.max(most, channel.unansweredBytes);
        await answer;
        most = Math.max(most, channel.unansweredBytes);
        mostAtOnce = Math.max(mostAtOnce, channel.unanswered);
        unanswered++;
      }),
    );
    expect(unanswered).toBe(600);
    expect(most).toBeLessThanOrEqual(limits.sendQueueBytes);
    expect(most).toBeGreaterThan(limits.sendQueueBytes / 2);
    expect(mostAtOnce).toBeLessThanOrEqual(limits.requestsInFlight);
    expect(mostAtOnce).toBeGreaterThan(6);
  });

  it('calls that wait are counted, too many are refused with Overloaded', async () => {
    const { handler, release } = holding();
    const { connect } = await rig({ handler, limits: { requestsInFlight: 1, requestsWaiting: 3 } });
    const channel = connect();
    const outcomes = [1, 2, 3, 4, 5].map((n) =>
      push(channel, n).then(
        () => 'answered',
        (error) => error.code,
      ),
    );
    expect(await outcomes[4]).toBe('Overloaded');
    release();
    expect(await Promise.all(outcomes)).toEqual(['answered', 'answered', 'answered', 'Overloaded', 'Overloaded']);
  });

  it('what no frame may hold is refused at once', async () => {
    const { connect } = await rig({ handler: () => applied, limits: { frameBytes: 1000 } });
    await expect(push(connect(), 1, 2000)).rejects.toMatchObject({ code: 'FrameTooLarge' });
  });

  it('a server refuses what a client sends over them, and stays in step', async () => {
    const { handler, seen, release } = holding();
    const { server } = await rig({
      handler,
      limits: { requestsInFlight: 2, frameBytes: 10_000, sendQueueBytes: 20_000 },
    });
    const client = await rawWebSocket(server.port);
    for (let id = 1; id <= 4; id++) client.send(pushBytes(id, 8));
    await seen(1);
    await client.frame(2);
    expect(client.frames.map((f) => [f.requestId, f.kind])).toEqual([
      [3, 'error'],
      [4, 'error'],
    ]);
    expect(client.frames[0]?.header).toMatchObject({ code: 'Overloaded' });
    release();
    await client.frame(4);
    expect(client.frames.slice(2).map((f) => [f.requestId, f.kind])).toEqual([
      [1, 'reply'],
      [2, 'reply'],
    ]);
  });

  it('a client that asks and never reads is held back, then cut', async () => {
    const handled: number[] = [];
    const limits = { requestsInFlight: 16, frameBytes: 1 << 20, sendQueueBytes: 2 << 20 };
    const { server, log } = await rig({
      limits,
      handler: (request) => {
        handled.push(request.segmentCount);
        return { header: { type: 'info', info: {} }, segments: [new Uint8Array(500_000)] };
      },
    });
    const client = await rawWebSocket(server.port);
    client.ws.pause();
    const request = frameBytes({});
    const flood = async (): Promise<void> => {
      while (client.ws.readyState === client.ws.OPEN && !log.lines.some((line) => /not read/.test(line))) {
        await new Promise((resolve) => client.ws.send(request, resolve));
      }
    };
    await Promise.all([flood(), log.said(/the peer does not read its answers/)]);
    // Far less was computed than asked for: the kernel's socket buffers and one send queue.
    expect(handled.length).toBeLessThan(200);
  });
});
