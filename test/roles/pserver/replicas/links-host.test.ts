/** What goes to which peer and when, and what the units are told; the connections do what a test says. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaEffect } from '../../../../src/core/replicas/events.ts';
import { isIn, keyOfOwner, type LinkName, type ReplicaFrame } from '../../../../src/core/replicas/messages.ts';
import { type PeerBatch, roomOfPart, type SharedPayload } from '../../../../src/core/replicas/peer-link.ts';
import type { UnitOwner } from '../../../../src/core/units/move-messages.ts';
import { LinksHost } from '../../../../src/roles/pserver/replicas/links-host.ts';
import type { ConnectPeerOptions } from '../../../../src/roles/pserver/replicas/peer-connections.ts';
import { A, B, C } from '../../../core/replicas/copies.ts';
import { MemoryLog } from '../../../protocol/rig.ts';
import { FakeClock } from '../../../store/support.ts';

const PART = roomOfPart(100);
const SILENCE_MS = 1_600;

type Effect = ReplicaEffect<SharedPayload>;

/** To one peer, as the host has it. */
class Connection {
  readonly options: ConnectPeerOptions;
  readonly sent: PeerBatch<SharedPayload>[] = [];
  reconnects = 0;
  isClosed = false;

  constructor(options: ConnectPeerOptions) {
    this.options = options;
  }

  send(batch: PeerBatch<SharedPayload>): void {
    this.sent.push(batch);
  }

  reconnect(): void {
    this.reconnects += 1;
    this.options.onClosed();
  }

  close(): void {
    this.isClosed = true;
  }
}

let clock: FakeClock;
let log: MemoryLog;
let host: LinksHost<SharedPayload>;
/** All that were made. */
let connections: Connection[];
let reachable: UnitOwner[];
let told: string[];
let fatal: unknown[];
/** Runs within a call of the units. */
let within: (call: string) => void;

const tell = (call: string): void => {
  told.push(call);
  within(call);
};

beforeEach(() => {
  [clock, log, connections, told, fatal] = [new FakeClock(), new MemoryLog(), [], [], []];
  [reachable, within] = [[B, C], () => {}];
  host = new LinksHost({
    ...{ clock, log, silenceMs: SILENCE_MS, mostUnderWay: 2, onFatal: (error) => fatal.push(error) },
    addressOf: (peer) => (isIn(reachable, peer) ? `host:${peer.index}` : undefined),
    connect: (options) => {
      const connection = new Connection(options);
      connections.push(connection);
      return connection;
    },
    units: {
      connected: ({ index }) => tell(`connected ${index}`),
      heard: ({ index }) => tell(`heard ${index}`),
      answered: ({ unit }, answer) => tell(`answered ${unit} ${answer?.type ?? 'nothing'}`),
    },
  });
});

/** The newest connection to the peer. */
const to = (peer: UnitOwner): Connection =>
  connections.findLast((one) => one.options.peer.index === peer.index && one.options.peer.token === peer.token)!;
const turn = (): Promise<void> => clock.advance(0);
const linkTo = (unit: number, member: UnitOwner): LinkName => ({ unit, epoch: 1, primary: A, member });
const staged = (through: number, committed = 0) => ({ type: 'staged', through, committed }) as const;
const send = (unit: number, member: UnitOwner, frame: ReplicaFrame<SharedPayload>): Effect => ({
  type: 'send',
  ...{ link: linkTo(unit, member), frame },
});
const begin: ReplicaFrame<SharedPayload> = { type: 'begin', base: 0, tail: [], committed: 0 };
const stage = (payload: SharedPayload, position: number): ReplicaFrame<SharedPayload> => ({
  type: 'stage',
  update: { name: { position, epoch: 1 }, payload },
  committed: 0,
});
const sizes = (...units: number[]) => new Map(units.map((unit) => [unit, 100]));
const payload = (order: number, ...units: number[]): SharedPayload => ({ order, bytesByUnit: sizes(...units) });
/** Of each batch: what its frames are, about which unit. */
const framesTo = (peer: UnitOwner): string[] =>
  to(peer).sent.map(({ frames }) => frames.map(({ link, frame }) => `${frame.type} ${link.unit}`).join(', '));

/** These units have the peer, and there is a connection with room for so many parts of updates. */
async function linked(peer: UnitOwner, parts: number, ...units: number[]): Promise<void> {
  for (const unit of units) host.stepped(unit, [], [peer]);
  await turn();
  to(peer).options.onOpened(parts * PART);
  await turn();
}

describe('connections', () => {
  it('are made to each peer of any unit, once', async () => {
    host.stepped(1, [], [B]);
    host.stepped(2, [], [B, C]);
    await turn();
    host.stepped(3, [], [C]);
    await turn();
    expect(connections.map(({ options }) => options.peer)).toEqual([
      { ...B, address: 'host:1' },
      { ...C, address: 'host:2' },
    ]);
  });

  it('are made when the peer has an address', async () => {
    reachable = [];
    host.stepped(1, [], [B]);
    await turn();
    expect(connections).toEqual([]);
    reachable = [B];
    host.lookAgain();
    host.lookAgain();
    await turn();
    host.lookAgain();
    await turn();
    expect(connections).toHaveLength(1);
  });

  it('are closed when the last unit has left the peer, which was told so', async () => {
    await linked(B, 10, 1, 2);
    host.stepped(1, [], []);
    await turn();
    expect(to(B).isClosed).toBe(false);
    host.stepped(2, [], [C]);
    await turn();
    expect(to(B).sent.map(({ left }) => left)).toEqual([[1], [2]]);
    expect(to(B).isClosed).toBe(true);
    expect(to(C).isClosed).toBe(false);
  });

  it('are to one process: another one with the same index has its own', async () => {
    const next = { ...B, token: '99' };
    await linked(B, 10, 1);
    reachable = [next];
    host.stepped(1, [], [next]);
    await turn();
    expect(connections.map(({ options, isClosed }) => [keyOfOwner(options.peer), isClosed])).toEqual([
      ['1/11', true],
      ['1/99', false],
    ]);
  });

  it('to a process that has lost its index are closed and not made again', async () => {
    await linked(B, 10, 1);
    reachable = [];
    host.gone(B);
    host.stepped(1, [send(1, B, { type: 'commit', committed: 1 })], [B]);
    host.lookAgain();
    await turn();
    expect(to(B).isClosed).toBe(true);
    expect([connections.length, to(B).sent.length]).toEqual([1, 0]);
    expect(fatal).toEqual([]);
  });

  it('are all closed at the end, and nothing is told or sent after that', async () => {
    await linked(B, 10, 1);
    host.ask(sizes(1), () => tell('room'));
    host.stepped(1, [send(1, B, begin)], [B]);
    host.close();
    await turn();
    expect([to(B).isClosed, to(B).sent]).toEqual([true, []]);
    expect(told).toEqual(['connected 1']);
    host.lookAgain();
    host.stepped(1, [], [C]);
    await turn();
    expect(connections).toHaveLength(1);
  });
});

describe('batches', () => {
  it('go out when the caller has returned, and share what many units have said', async () => {
    await linked(B, 10, 1, 2);
    const one = payload(1, 1, 2);
    for (const unit of [1, 2]) host.stepped(unit, [send(unit, B, stage(one, 1))], [B]);
    expect(to(B).sent).toEqual([]);
    await turn();
    expect(framesTo(B)).toEqual(['stage 1, stage 2']);
  });

  it('share what units say when they are told of a connection, an answer or room', async () => {
    within = (call) => {
      if (!call.startsWith('connected')) return;
      for (const unit of [1, 2]) host.stepped(unit, [send(unit, B, begin)], [B]);
    };
    await linked(B, 10, 1, 2);
    expect(framesTo(B)).toEqual(['begin 1, begin 2']);
    within = (call) => {
      const unit = Number(/^answered (\d)/.exec(call)?.[1]);
      if (unit > 0) host.stepped(unit, [send(unit, B, { type: 'commit', committed: 1 })], [B]);
    };
    to(B).options.onAnswer([staged(0), staged(0)]);
    await turn();
    expect(framesTo(B).slice(1)).toEqual(['commit 1, commit 2']);
    host.ask(sizes(1, 2), (takeRoom) => {
      const update = payload(1, 1, 2);
      const name = { position: 1, epoch: 1 };
      takeRoom(
        update,
        [1, 2].map((unit) => ({ unit, name })),
      );
      for (const unit of [1, 2]) host.stepped(unit, [send(unit, B, stage(update, 1))], [B]);
    });
    await turn();
    expect(framesTo(B).slice(2)).toEqual(['stage 1, stage 2']);
    expect(to(B).sent[2]).toMatchObject({ isLate: false, order: 1 });
  });

  it('wait while too many are not answered', async () => {
    await linked(B, 10, 1);
    for (const at of [1, 2, 3]) host.stepped(1, [send(1, B, stage(payload(at, 1), at))], [B]);
    await turn();
    expect(to(B).sent).toHaveLength(2);
    to(B).options.onAnswer([staged(1)]);
    await turn();
    expect(to(B).sent.map(({ order }) => order)).toEqual([1, 2, 3]);
  });

  it('go nowhere without a connection, and those of a lost one are forgotten', async () => {
    await linked(B, 10, 1);
    host.stepped(1, [send(1, B, begin)], [B]);
    await turn();
    to(B).options.onClosed();
    host.stepped(1, [send(1, B, { type: 'commit', committed: 1 })], [B]);
    await turn();
    expect(framesTo(B)).toEqual(['begin 1']);
    to(B).options.onOpened(10 * PART);
    expect(told).toEqual(['connected 1', 'connected 1']);
    host.stepped(1, [send(1, B, begin)], [B]);
    await turn();
    expect(framesTo(B)).toEqual(['begin 1', 'begin 1']);
    to(B).options.onAnswer([staged(0)]);
    expect(told.slice(2)).toEqual(['heard 1', 'answered 1 staged']);
  });

  it('are sent no more on a connection that is lost in the same turn', async () => {
    await linked(B, 10, 1);
    host.stepped(1, [send(1, B, begin)], [B]);
    to(B).options.onClosed();
    await turn();
    expect(to(B).sent).toEqual([]);
    expect(fatal).toEqual([]);
  });
});

describe('answers', () => {
  const beginAll = async (): Promise<void> => {
    for (const unit of [1, 2]) host.stepped(unit, [send(unit, B, begin)], [B]);
    await turn();
    told.length = 0;
  };
  beforeEach(() => linked(B, 10, 1, 2));

  it('are told to their units, after all units have heard of the peer', async () => {
    await beginAll();
    to(B).options.onAnswer([staged(0), undefined]);
    expect(told).toEqual(['heard 1', 'answered 1 staged', 'answered 2 nothing']);
  });

  it('are heard of by all units once in a while, and first on each connection', async () => {
    const commits = async (committed: number, unit = 1): Promise<void> => {
      host.stepped(unit, [send(unit, B, { type: 'commit', committed })], [B]);
      await turn();
      to(B).options.onAnswer([staged(0)]);
    };
    const heard = (): number => told.filter((call) => call === 'heard 1').length;
    for (const committed of [1, 2, 3]) await commits(committed);
    expect(heard()).toBe(1);
    await clock.advance(SILENCE_MS / 16 - 1);
    await commits(4);
    expect(heard()).toBe(1);
    await clock.advance(1);
    await commits(5);
    expect(heard()).toBe(2);
    to(B).options.onClosed();
    to(B).options.onOpened(10 * PART);
    await commits(6);
    expect(heard()).toBe(3);
    expect(told.filter((call) => call.startsWith('answered'))).toHaveLength(6);
  });

  it('that do not fit what was sent end the connection, and no unit is told', async () => {
    await beginAll();
    to(B).options.onAnswer([staged(0)]);
    expect(told).toEqual([]);
    expect(to(B).reconnects).toBe(1);
    expect(log.lines.some((line) => line.startsWith('warn pserver 1 '))).toBe(true);
    host.stepped(1, [send(1, B, begin)], [B]);
    await turn();
    expect(framesTo(B)).toEqual(['begin 1, begin 2']);
  });

  it('end when the host is closed by one of the units', async () => {
    await beginAll();
    within = (call) => {
      if (call.startsWith('answered')) host.close();
    };
    to(B).options.onAnswer([staged(0), staged(0)]);
    await turn();
    expect(told).toEqual(['heard 1', 'answered 1 staged']);
  });

  it('may be followed by the loss of the peer in the same call', async () => {
    await beginAll();
    within = (call) => {
      if (call.startsWith('heard')) host.gone(B);
    };
    to(B).options.onAnswer([staged(0), staged(0)]);
    await turn();
    expect(to(B).isClosed).toBe(true);
    expect(fatal).toEqual([]);
  });
});

describe('room', () => {
  const asks = (name: string, ...units: number[]) => host.ask(sizes(...units), () => tell(name));
  const placing = (order: number, unit: number) =>
    host.ask(sizes(unit), (takeRoom) => {
      told.push(`room ${order}`);
      const update = payload(order, unit);
      takeRoom(update, [{ unit, name: { position: order, epoch: 1 } }]);
      host.stepped(unit, [send(unit, B, stage(update, order))], [B]);
    });
  const begun = async (parts: number): Promise<void> => {
    await linked(B, parts, 1);
    host.stepped(1, [send(1, B, begin)], [B]);
    await turn();
    to(B).options.onAnswer([staged(0)]);
    await turn();
    told.length = 0;
  };
  const commit = async (committed: number): Promise<void> => {
    to(B).options.onAnswer([staged(committed, committed)]);
    await turn();
  };

  it('is offered when the caller has returned, where no peer has a part in it as well', async () => {
    asks('room', 7);
    expect(told).toEqual([]);
    await turn();
    expect(told).toEqual(['room']);
  });

  it('is offered when the peers have it, in the order of the calls', async () => {
    await begun(2);
    for (const order of [1, 2, 3, 4]) placing(order, 1);
    await turn();
    expect(told).toEqual(['room 1', 'room 2']);
    expect(host.takenAt(B)).toBe(2 * PART);
    await commit(1);
    expect(told.filter((call) => call.startsWith('room'))).toEqual(['room 1', 'room 2', 'room 3']);
    await commit(2);
    await commit(3);
    await commit(4);
    expect(told.filter((call) => call.startsWith('room'))).toHaveLength(4);
    expect(host.takenAt(B)).toBe(0);
  });

  it('is free again when it is not taken at once', async () => {
    await linked(B, 1, 1);
    told.length = 0;
    for (const name of ['first', 'second', 'third']) asks(name, 1);
    await turn();
    expect(told).toEqual(['first', 'second', 'third']);
    expect(host.takenAt(B)).toBe(0);
  });

  it('is taken within the call that offers it, and once', async () => {
    let kept: ((update: SharedPayload, placed: readonly []) => void) | undefined;
    host.ask(sizes(1), (takeRoom) => {
      kept = takeRoom;
    });
    await turn();
    expect(() => kept?.(payload(1, 1), [])).toThrow('at once');
    host.ask(sizes(1), (takeRoom) => {
      takeRoom(payload(1, 1), []);
      takeRoom(payload(1, 1), []);
    });
    await turn();
    expect(String(fatal)).toContain('room is taken once');
  });

  it('is waited for no more when the wait is ended, also while another one is called', async () => {
    await begun(1);
    placing(1, 1);
    const end = asks('never', 1);
    asks('later', 1);
    await turn();
    expect(told).toEqual(['room 1']);
    end();
    end();
    await commit(1);
    expect(told.filter((call) => call === 'never' || call === 'later')).toEqual(['later']);
    told.length = 0;
    // Both have room, and the first ends the second.
    host.ask(sizes(7), () => endSecond());
    const endSecond = asks('second', 7);
    await turn();
    expect(told).toEqual([]);
    expect(fatal).toEqual([]);
  });

  it('is asked for within a call that offers it', async () => {
    await linked(B, 1, 1);
    told.length = 0;
    within = (call) => {
      if (call === 'outer') asks('inner', 1);
    };
    asks('outer', 1);
    await turn();
    expect(told).toEqual(['outer', 'inner']);
  });

  it('is waited for no longer at a peer that was taken out', async () => {
    await linked(B, 1, 1, 2);
    told.length = 0;
    placing(1, 1);
    asks('room', 2);
    await turn();
    expect(told).toEqual(['room 1']);
    host.stepped(2, [], []);
    await turn();
    expect(told).toEqual(['room 1', 'room']);
  });

  it('is not offered before the peer has told its window', async () => {
    host.stepped(1, [], [B]);
    asks('room', 1);
    await turn();
    expect(told).toEqual([]);
    to(B).options.onOpened(PART);
    await turn();
    expect(told).toEqual(['connected 1', 'room']);
  });
});

it('gives a bug of its units to its owner, and goes on', async () => {
  host.ask(sizes(1), () => {
    throw new Error('a bug');
  });
  await turn();
  expect(String(fatal)).toBe('Error: a bug');
  host.ask(sizes(1), () => tell('room'));
  await turn();
  expect(told).toEqual(['room']);
});
