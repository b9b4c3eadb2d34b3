/** Messages of a move reach their target in order; what becomes of the connection, the source is told. */
import { beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import type { MoveAnswer, MoveMessage, MoveName } from '../../../../src/core/units/move-messages.ts';
import type { RequestHeader } from '../../../../src/protocol/messages/all-messages.ts';
import type { RequestHandler } from '../../../../src/protocol/messages/channel.ts';
import { connectMove, type MoveConnection } from '../../../../src/roles/pserver/transfer/move-connection.ts';
import type { MovePayload } from '../../../../src/roles/pserver/transfer/outgoing-move.ts';
import { MemoryLog } from '../../../protocol/rig.ts';
import { createDice } from '../../../sim/dice.ts';
import { SimulatedNetwork } from '../../../sim/network.ts';
import { SimulatedProcess } from '../../../sim/process.ts';
import { Timeline } from '../../../sim/timeline.ts';

const JOB = { job: 'job', batchPlanId: 'plan' };
const TARGET = { index: 1, token: '8' };
const NAME: MoveName = {
  purpose: 'lead',
  unit: 1,
  epoch: 1,
  source: { index: 0, token: '7' },
  target: TARGET,
  attempt: 1,
};
const LONG_MS = 60_000;

let timeline: Timeline;
let network: SimulatedNetwork;
let source: SimulatedProcess;
let target: SimulatedProcess;
let address: string;
/** What the target answers; throws what it refuses with. */
let answering: (header: RequestHeader) => readonly MoveAnswer[];
let seen: RequestHeader[];
let told: string[];
let open: MoveConnection;
let onConnected: () => void;

beforeEach(async () => {
  timeline = new Timeline();
  const dice = createDice(7, 'moves');
  const bug = (_: SimulatedProcess, error: unknown): void => {
    throw error;
  };
  network = new SimulatedNetwork({ processes: 2, timeline, dice, answered: () => {}, bug });
  source = new SimulatedProcess({ name: 'pserver 0', role: 'pserver', life: 1 }, timeline, dice);
  target = new SimulatedProcess({ name: 'pserver 1', role: 'pserver', life: 1 }, timeline, dice);
  [seen, told] = [[], []];
  answering = (header) => (header.type === 'moveFrame' ? [taken(header.number + 1)] : []);
  onConnected = () => {};
  address = await listen();
  const { clock, random } = source;
  const host = { clock, random, log: new MemoryLog() };
  open = connectMove({
    context: { host: host as never, network: network.of(source) },
    job: JOB,
    target: { ...TARGET, address },
    onConnected: () => {
      told.push('connected');
      onConnected();
    },
    onAnswer: (answer) => told.push(describeAnswer(answer)),
    onFatal: (error) => told.push(`fatal: ${String(error)}`),
  });
});

async function listen(): Promise<string> {
  const handler: RequestHandler = async ({ header }) => {
    seen.push(header);
    const answers = answering(header);
    if (header.type === 'openMove') return { header: { type: 'openMove' } };
    const given = answers.map(({ name, ...answer }) => ({ ...answer, move: name }));
    return { header: { type: header.type as 'moveFrame', answers: given } };
  };
  const http = async () => undefined;
  const { port } = await network.of(target).listen({ listen: 'localhost:0', handler, http });
  return `localhost:${port}`;
}

const describeAnswer = (answer: MoveAnswer): string => {
  if (answer.type === 'taken') return `taken ${answer.next}`;
  return answer.type === 'refused' ? `refused: ${answer.reason}` : answer.type;
};
const taken = (next: number): MoveAnswer => ({ type: 'taken', name: NAME, next });
const frame = (number: number): MoveMessage<MovePayload> => {
  const payload = { type: 'close', tasks: [] } as const;
  return { type: 'frame', frame: { name: NAME, number, content: { type: 'update', position: number, payload } } };
};
const until = (count: number) => timeline.run(() => told.length >= count, timeline.nowMs + LONG_MS);
const pass = (ms: number) => timeline.run(() => false, timeline.nowMs + ms);
const severAll = (): void => {
  for (const connection of [...network.connections]) connection.sever(true, true);
};
const numbers = (): (number | string)[] =>
  seen.map((header) => (header.type === 'moveFrame' ? header.number : header.type));

describe('a connection that carries a move', () => {
  it('sends in order without waiting for answers, and gives these in order', async () => {
    await until(1);
    for (let number = 0; number < 5; number++) open.send(frame(number));
    await until(6);
    expect(numbers()).toEqual(['openMove', 0, 1, 2, 3, 4]);
    expect(told).toEqual(['connected', 'taken 1', 'taken 2', 'taken 3', 'taken 4', 'taken 5']);
  });

  it('sends what the source sends when it is told of the connection', async () => {
    onConnected = () => open.send({ type: 'offer', name: NAME });
    answering = () => [{ type: 'accepted', name: NAME }];
    await until(2);
    expect(seen[1]).toEqual({ type: 'offerMove', ...JOB, move: NAME });
    expect(told).toEqual(['connected', 'accepted']);
  });

  it('loses what is sent before there is a connection', async () => {
    open.send(frame(0));
    await until(1);
    open.send(frame(1));
    await until(2);
    expect(told).toEqual(['connected', 'taken 2']);
  });

  it('is made again when it breaks, and repeats nothing by itself', async () => {
    await until(1);
    let isFirst = true;
    answering = () => {
      // The connection is gone before the answer is.
      if (isFirst) severAll();
      isFirst = false;
      return [taken(9)];
    };
    open.send(frame(0));
    open.send(frame(1));
    await until(2);
    open.send(frame(2));
    await until(3);
    expect(told).toEqual(['connected', 'connected', 'taken 9']);
    expect(numbers().filter((number) => number === 0)).toHaveLength(1);
    expect(numbers().slice(-2)).toEqual(['openMove', 2]);
  });

  it('is none until the target takes part in moves', async () => {
    let isReady = false;
    answering = () => {
      if (!isReady) throw new PaddletError('NotReady', 'not yet');
      return [];
    };
    await pass(20_000);
    expect(told).toEqual([]);
    // Once a second and less.
    expect(seen.length).toBeLessThan(60);
    isReady = true;
    await until(1);
    expect(told).toEqual(['connected']);
  });

  it('is none where another process listens', async () => {
    answering = () => {
      throw new PaddletError('WrongJob', 'of another job');
    };
    await pass(LONG_MS);
    expect(told).toEqual([]);
  });

  it('is made again after an error that may pass', async () => {
    await until(1);
    answering = (header) => {
      if (header.type === 'moveFrame') throw new PaddletError('Suspended', 'cut off');
      return [];
    };
    open.send(frame(0));
    await until(2);
    expect(told).toEqual(['connected', 'connected']);
  });

  it('waits longer and longer while nothing is answered but its opening', async () => {
    onConnected = () => open.send(frame(0));
    answering = (header) => {
      if (header.type === 'moveFrame') throw new PaddletError('Overloaded', 'too much');
      return [];
    };
    await pass(20_000);
    expect(told.length).toBeGreaterThan(10);
    expect(told.length).toBeLessThan(60);
  });

  it('counts an error that repeating cannot help as a refusal', async () => {
    await until(1);
    answering = () => {
      throw new PaddletError('BadMessage', 'no such unit');
    };
    open.send(frame(0));
    await until(2);
    open.send({ type: 'abandon', name: NAME });
    await until(3);
    const refused = 'refused: BadMessage: no such unit';
    expect(told).toEqual(['connected', refused, refused]);
  });

  it('ends when it is closed, and what was sent arrives', async () => {
    await until(1);
    open.send({ type: 'moved', name: NAME });
    answering = () => [taken(1)];
    open.close();
    open.send(frame(0));
    expect(await timeline.run(() => false, timeline.nowMs + LONG_MS)).toBe('idle');
    expect(numbers()).toEqual(['openMove', 'unitMoved']);
    expect(told).toEqual(['connected']);
    expect(network.connections.size).toBe(0);
  });

  it('ends when it is closed and the target is silent', async () => {
    await until(1);
    open.send(frame(0));
    network.block('pserver 0', 'pserver 1');
    open.close();
    const closedMs = timeline.nowMs;
    await timeline.run(() => network.connections.size === 0, closedMs + LONG_MS);
    expect(timeline.nowMs - closedMs).toBeGreaterThan(900);
    expect(told).toEqual(['connected']);
  });

  it('ends when it is closed before it is open', async () => {
    open.close();
    await timeline.run(() => false, LONG_MS);
    expect(told).toEqual([]);
    expect(seen.length).toBeLessThan(2);
    expect(network.connections.size).toBe(0);
  });
});
