/** Batches reach a peer in order, and its answers come back in that order; what fails ends the connection. */
import { beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { BatchAnswer, PeerBatch, SharedPayload } from '../../../../src/core/replicas/peer-link.ts';
import { connectPeer, type PeerConnection } from '../../../../src/roles/pserver/replicas/peer-connection.ts';
import { MemoryLog } from '../../../protocol/rig.ts';
import { FakeClock } from '../../../store/support.ts';
import { FakeNetwork } from './connection-rig.ts';

const SILENCE_MS = 5_000;
/** Above every pause between two connections. */
const PAUSE_MS = 1_100;

let clock: FakeClock;
let fake: FakeNetwork;
let log: MemoryLog;
let told: string[];
let connection: PeerConnection<SharedPayload>;
let onAnswer: () => void;

const batch = (order: number): PeerBatch<SharedPayload> => ({ left: [], frames: [], order, isLate: false });
const answerOf = (through: number): BatchAnswer => [{ type: 'staged', through, committed: 0 }];
const orders = (): number[] => fake.newest.batches.map((asked) => asked.batch.order);
const settle = (): Promise<void> => clock.advance(0);

async function open(windowBytes = 100): Promise<void> {
  fake.newest.opening!.answer.resolve(windowBytes);
  await settle();
}

async function answer(at: number): Promise<void> {
  const asked = fake.newest.batches[at]!;
  asked.answer.resolve(answerOf(asked.batch.order));
  await settle();
}

async function fail(at: number, error: unknown): Promise<void> {
  fake.newest.batches[at]!.answer.reject(error);
  await settle();
}

/** Gives how long it took. */
async function untilConnected(): Promise<number> {
  const sinceMs = clock.monotonicMs();
  const count = fake.channels.length;
  while (fake.channels.length === count) await clock.advance(1);
  return clock.monotonicMs() - sinceMs;
}

beforeEach(async () => {
  [clock, log, told] = [new FakeClock(), new MemoryLog(), []];
  fake = new FakeNetwork(clock);
  onAnswer = () => {};
  const host = { clock, log, random: { uuid: () => 'id', fraction: () => 0 } };
  connection = connectPeer({
    context: { host: host as never, network: fake.network },
    peer: { index: 1, token: '8', address: 'host:1' },
    protocol: fake,
    silenceMs: SILENCE_MS,
    onOpened: (windowBytes) => told.push(`opened ${windowBytes}`),
    onAnswer: (answers) => {
      told.push(answers.map((one) => (one?.type === 'staged' ? `staged ${one.through}` : '?')).join());
      onAnswer();
    },
    onClosed: () => told.push('closed'),
    onFatal: (error) => told.push(`fatal: ${String(error)}`),
  });
  await settle();
});

describe('a connection to a peer', () => {
  it('sends in order without waiting for answers, and gives these in the order of the batches', async () => {
    await open();
    for (const order of [1, 2, 3, 4]) connection.send(batch(order));
    await settle();
    expect(orders()).toEqual([1, 2, 3, 4]);
    await answer(1);
    await answer(2);
    expect(told).toEqual(['opened 100']);
    await answer(0);
    expect(told).toEqual(['opened 100', 'staged 1', 'staged 2', 'staged 3']);
    await answer(3);
    expect(told.at(-1)).toBe('staged 4');
  });

  it('loses what is sent before it is open', async () => {
    connection.send(batch(1));
    await open();
    connection.send(batch(2));
    await settle();
    expect(orders()).toEqual([2]);
  });

  it.each(['NotReady', 'StalePlacement', 'BadMessage', 'ConnectionLost'] as const)(
    'ends with %s for a batch, answers nothing more, and is made again',
    async (code) => {
      await open();
      for (const order of [1, 2, 3]) connection.send(batch(order));
      await fail(1, new PaddletError(code, 'no'));
      expect(told).toEqual(['opened 100', 'closed']);
      expect(fake.newest.isClosed).toBe(true);
      fake.channels[0]!.batches[0]!.answer.resolve(answerOf(1));
      connection.send(batch(4));
      await clock.advance(PAUSE_MS);
      await open(200);
      connection.send(batch(5));
      await settle();
      expect(orders()).toEqual([5]);
      await answer(0);
      expect(told).toEqual(['opened 100', 'closed', 'opened 200', 'staged 5']);
    },
  );

  it('tells nothing of an older connection', async () => {
    await open();
    connection.send(batch(1));
    connection.send(batch(2));
    await settle();
    const older = fake.newest;
    // The peer closes: the first request hears of it now, the other one is answered later.
    older.batches[0]!.answer.reject(new PaddletError('ConnectionLost', 'gone'));
    older.close = () => {};
    await clock.advance(PAUSE_MS);
    await open();
    connection.send(batch(3));
    older.batches[1]!.answer.reject(new PaddletError('ConnectionLost', 'gone'));
    await settle();
    await answer(0);
    expect(told).toEqual(['opened 100', 'closed', 'opened 100', 'staged 3']);
  });

  it('is none until the peer takes part, and is asked for again with pauses that grow', async () => {
    const opening = async (): Promise<void> => {
      fake.newest.opening!.answer.reject(new PaddletError('NotReady', 'not yet'));
      await settle();
    };
    const waitedMs: number[] = [];
    for (let attempt = 1; attempt <= 8; attempt++) {
      await opening();
      waitedMs.push(await untilConnected());
    }
    expect(waitedMs).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000]);
    expect(told).toEqual([]);
    await open();
    expect(told).toEqual(['opened 100']);
  });

  it('is made again with pauses that grow while only its opening is answered', async () => {
    const pauses: number[] = [];
    const refused = async (): Promise<void> => {
      connection.send(batch(1));
      await fail(fake.newest.batches.length - 1, new PaddletError('Overloaded', 'too much'));
      pauses.push(await untilConnected());
      await open();
    };
    await open();
    for (let attempt = 1; attempt <= 4; attempt++) await refused();
    connection.send(batch(1));
    await answer(0);
    await refused();
    expect(pauses).toEqual([50, 100, 200, 400, 50]);
  });

  it('ends when its user takes the peer for failed, also while it is told of an answer', async () => {
    const pauses: number[] = [];
    onAnswer = () => connection.reconnect();
    for (let attempt = 1; attempt <= 4; attempt++) {
      await open();
      connection.send(batch(1));
      connection.send(batch(2));
      await settle();
      fake.newest.batches[1]!.answer.resolve(answerOf(2));
      await answer(0);
      pauses.push(await untilConnected());
    }
    const one = ['opened 100', 'staged 1', 'closed'];
    expect(told).toEqual([...one, ...one, ...one, ...one]);
    // An answer that is of no use is a failure in a row.
    expect(pauses).toEqual([50, 100, 200, 400]);
  });

  it('waits for an answer far longer than a member may be silent, and not for ever', async () => {
    await open();
    connection.send(batch(1));
    await clock.advance(3 * SILENCE_MS);
    expect(told).toEqual(['opened 100']);
    await clock.advance(2 * SILENCE_MS);
    expect(told).toEqual(['opened 100', 'closed']);
  });

  it('warns once of a peer that refuses for good', async () => {
    for (let attempt = 0; attempt < 3; attempt++) {
      await open();
      connection.send(batch(1));
      await fail(0, new PaddletError('BadMessage', 'no such unit'));
      await clock.advance(PAUSE_MS);
    }
    expect(log.lines.filter((line) => line.startsWith('warn '))).toHaveLength(1);
  });

  it('gives a bug to its owner', async () => {
    await open();
    connection.send(batch(1));
    await fail(0, new Error('a bug'));
    expect(told).toEqual(['opened 100', 'fatal: Error: a bug']);
  });

  it('ends when it is closed: what was sent arrives, and nothing is told', async () => {
    await open();
    connection.send(batch(1));
    connection.close();
    connection.send(batch(2));
    await settle();
    expect(orders()).toEqual([1]);
    expect(fake.newest.isClosed).toBe(false);
    await answer(0);
    expect(fake.newest.isClosed).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    expect(told).toEqual(['opened 100']);
    expect(fake.channels).toHaveLength(1);
  });

  it('ends soon when it is closed and the peer is silent', async () => {
    await open();
    connection.send(batch(1));
    connection.close();
    await clock.advance(999);
    expect(fake.newest.isClosed).toBe(false);
    await clock.advance(1);
    expect(fake.newest.isClosed).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    expect(told).toEqual(['opened 100']);
  });

  it('ends when it is closed before it is open, or while it pauses', async () => {
    fake.newest.opening!.answer.reject(new PaddletError('NotReady', 'not yet'));
    await settle();
    expect(clock.pendingTimers).toBe(1);
    connection.close();
    await settle();
    expect(clock.pendingTimers).toBe(0);
    expect(fake.channels).toHaveLength(1);
    expect(told).toEqual([]);
  });
});
