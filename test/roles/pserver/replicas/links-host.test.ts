/** What goes to which peer and when, and what the units are told. */
import { beforeEach, describe, expect, it } from 'vitest';
import { keyOfOwner } from '../../../../src/core/replicas/messages.ts';
import { COMMITS_WAIT_MS } from '../../../../src/roles/pserver/replicas/links-host.ts';
import { B, C } from '../../../core/replicas/copies.ts';
import { begin, LinksRig, PART, payload, SILENCE_MS, send, sizes, stage, staged } from './links-rig.ts';

let rig: LinksRig;

beforeEach(() => {
  rig = new LinksRig();
});

describe('connections', () => {
  it('are made to each peer of any unit, once', async () => {
    rig.host.stepped(1, [], [B]);
    rig.host.stepped(2, [], [B, C]);
    await rig.turn();
    rig.host.stepped(3, [], [C]);
    await rig.turn();
    expect(rig.connections.map(({ options }) => options.peer)).toEqual([
      { ...B, address: 'host:1' },
      { ...C, address: 'host:2' },
    ]);
  });

  it('are made when the peer has an address', async () => {
    rig.reachable = [];
    rig.host.stepped(1, [], [B]);
    await rig.turn();
    expect(rig.connections).toEqual([]);
    rig.reachable = [B];
    rig.host.addressesChanged();
    rig.host.addressesChanged();
    await rig.turn();
    rig.host.addressesChanged();
    await rig.turn();
    expect(rig.connections).toHaveLength(1);
  });

  it('are closed when the last unit has left the peer, which was told so', async () => {
    await rig.linked(B, 10, 1, 2);
    rig.host.stepped(1, [], []);
    await rig.turn();
    expect(rig.to(B).isClosed).toBe(false);
    rig.host.stepped(2, [], [C]);
    await rig.turn();
    expect(rig.to(B).sent.map(({ left }) => left)).toEqual([[1], [2]]);
    expect(rig.to(B).isClosed).toBe(true);
    expect(rig.to(C).isClosed).toBe(false);
  });

  it('are to one process: another one with the same index has its own', async () => {
    const next = { ...B, token: '99' };
    await rig.linked(B, 10, 1);
    rig.reachable = [next];
    rig.host.stepped(1, [], [next]);
    await rig.turn();
    expect(rig.connections.map(({ options, isClosed }) => [keyOfOwner(options.peer), isClosed])).toEqual([
      ['1/11', true],
      ['1/99', false],
    ]);
  });

  it('to a process that has lost its index are closed and not made again', async () => {
    await rig.linked(B, 10, 1);
    rig.reachable = [];
    rig.host.gone(B);
    rig.host.stepped(1, [send(1, B, { type: 'commit', committed: 1 })], [B]);
    rig.host.addressesChanged();
    await rig.turn();
    expect(rig.to(B).isClosed).toBe(true);
    expect([rig.connections.length, rig.to(B).sent.length]).toEqual([1, 0]);
    expect(rig.fatal).toEqual([]);
  });

  it('are all closed at the end, and nothing is told or sent after that', async () => {
    await rig.linked(B, 10, 1);
    rig.host.ask(sizes(1), () => rig.tell('room'));
    rig.host.stepped(1, [send(1, B, begin)], [B]);
    rig.host.close();
    await rig.turn();
    expect([rig.to(B).isClosed, rig.to(B).sent]).toEqual([true, []]);
    expect(rig.told).toEqual(['connected 1']);
    rig.host.addressesChanged();
    rig.host.stepped(1, [], [C]);
    await rig.turn();
    expect(rig.connections).toHaveLength(1);
  });
});

describe('batches', () => {
  it('go out when the caller has returned, and share what many units have said', async () => {
    await rig.linked(B, 10, 1, 2);
    const one = payload(1, 1, 2);
    for (const unit of [1, 2]) rig.host.stepped(unit, [send(unit, B, stage(one, 1))], [B]);
    expect(rig.to(B).sent).toEqual([]);
    await rig.turn();
    expect(rig.framesTo(B)).toEqual(['stage 1, stage 2']);
  });

  it('share what units say when they are told of a connection, an answer or room', async () => {
    rig.within = (call) => {
      if (!call.startsWith('connected')) return;
      for (const unit of [1, 2]) rig.host.stepped(unit, [send(unit, B, begin)], [B]);
    };
    await rig.linked(B, 10, 1, 2);
    expect(rig.framesTo(B)).toEqual(['begin 1, begin 2']);
    rig.within = (call) => {
      const unit = Number(/^answered (\d)/.exec(call)?.[1]);
      if (unit > 0) rig.host.stepped(unit, [send(unit, B, { type: 'commit', committed: 1 })], [B]);
    };
    rig.to(B).options.onAnswer([staged(0), staged(0)]);
    await rig.clock.advance(COMMITS_WAIT_MS);
    expect(rig.framesTo(B).slice(1)).toEqual(['commit 1, commit 2']);
    rig.host.ask(sizes(1, 2), (takeRoom) => {
      const update = payload(1, 1, 2);
      const name = { position: 1, epoch: 1 };
      takeRoom(
        update,
        [1, 2].map((unit) => ({ unit, name })),
      );
      for (const unit of [1, 2]) rig.host.stepped(unit, [send(unit, B, stage(update, 1))], [B]);
    });
    await rig.turn();
    expect(rig.framesTo(B).slice(2)).toEqual(['stage 1, stage 2']);
    expect(rig.to(B).sent[2]).toMatchObject({ isLate: false, order: 1 });
  });

  it('of commit positions alone wait a while for an update', async () => {
    const commit = (unit: number) => send(unit, B, { type: 'commit', committed: 1 });
    await rig.linked(B, 10, 1, 2);
    rig.host.stepped(1, [commit(1)], [B]);
    await rig.clock.advance(COMMITS_WAIT_MS - 1);
    expect(rig.framesTo(B)).toEqual([]);
    rig.host.stepped(2, [send(2, B, stage(payload(1, 2), 1))], [B]);
    await rig.turn();
    expect(rig.framesTo(B)).toEqual(['stage 2, commit 1']);
    rig.host.stepped(2, [commit(2)], [B]);
    await rig.clock.advance(COMMITS_WAIT_MS);
    expect(rig.framesTo(B).slice(1)).toEqual(['commit 2']);
    await rig.clock.advance(COMMITS_WAIT_MS);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  it('wait while too many are not answered', async () => {
    await rig.linked(B, 10, 1);
    for (const at of [1, 2, 3]) rig.host.stepped(1, [send(1, B, stage(payload(at, 1), at))], [B]);
    await rig.turn();
    expect(rig.to(B).sent).toHaveLength(2);
    rig.to(B).options.onAnswer([staged(1)]);
    await rig.turn();
    expect(rig.to(B).sent.map(({ order }) => order)).toEqual([1, 2, 3]);
  });

  it('go nowhere without a connection, and those of a lost one are forgotten', async () => {
    await rig.linked(B, 10, 1);
    rig.host.stepped(1, [send(1, B, begin)], [B]);
    await rig.turn();
    rig.to(B).options.onClosed();
    rig.host.stepped(1, [send(1, B, { type: 'commit', committed: 1 })], [B]);
    await rig.turn();
    expect(rig.framesTo(B)).toEqual(['begin 1']);
    rig.to(B).options.onOpened(10 * PART);
    expect(rig.told).toEqual(['connected 1', 'connected 1']);
    rig.host.stepped(1, [send(1, B, begin)], [B]);
    await rig.turn();
    expect(rig.framesTo(B)).toEqual(['begin 1', 'begin 1']);
    rig.to(B).options.onAnswer([staged(0)]);
    expect(rig.told.slice(2)).toEqual(['heard 1', 'answered 1 staged']);
  });

  it('are sent no more on a connection that is lost in the same turn', async () => {
    await rig.linked(B, 10, 1);
    rig.host.stepped(1, [send(1, B, begin)], [B]);
    rig.to(B).options.onClosed();
    await rig.turn();
    expect(rig.to(B).sent).toEqual([]);
    expect(rig.fatal).toEqual([]);
  });
});

describe('answers', () => {
  const beginAll = async (): Promise<void> => {
    for (const unit of [1, 2]) rig.host.stepped(unit, [send(unit, B, begin)], [B]);
    await rig.turn();
    rig.told.length = 0;
  };
  beforeEach(() => rig.linked(B, 10, 1, 2));

  it('are told to their units, after all units have heard of the peer', async () => {
    await beginAll();
    rig.to(B).options.onAnswer([staged(0), undefined]);
    expect(rig.told).toEqual(['heard 1', 'answered 1 staged', 'answered 2 nothing']);
  });

  it('are heard of by all units once in a while, and first on each connection', async () => {
    const update = async (position: number, unit = 1): Promise<void> => {
      rig.host.stepped(unit, [send(unit, B, stage(payload(position, unit), position))], [B]);
      await rig.turn();
      rig.to(B).options.onAnswer([staged(0)]);
    };
    const heard = (): number => rig.told.filter((call) => call === 'heard 1').length;
    for (const position of [1, 2, 3]) await update(position);
    expect(heard()).toBe(1);
    await rig.clock.advance(SILENCE_MS / 16 - 1);
    await update(4);
    expect(heard()).toBe(1);
    await rig.clock.advance(1);
    await update(5);
    expect(heard()).toBe(2);
    rig.to(B).options.onClosed();
    rig.to(B).options.onOpened(10 * PART);
    await update(6);
    expect(heard()).toBe(3);
    expect(rig.told.filter((call) => call.startsWith('answered'))).toHaveLength(6);
  });

  it('that do not fit what was sent end the connection, and no unit is told', async () => {
    await beginAll();
    rig.to(B).options.onAnswer([staged(0)]);
    expect(rig.told).toEqual([]);
    expect(rig.to(B).reconnects).toBe(1);
    expect(rig.log.lines.some((line) => line.startsWith('warn pserver 1 '))).toBe(true);
    rig.host.stepped(1, [send(1, B, begin)], [B]);
    await rig.turn();
    expect(rig.framesTo(B)).toEqual(['begin 1, begin 2']);
  });

  it('end when the host is closed by one of the units', async () => {
    await beginAll();
    rig.within = (call) => {
      if (call.startsWith('answered')) rig.host.close();
    };
    rig.to(B).options.onAnswer([staged(0), staged(0)]);
    await rig.turn();
    expect(rig.told).toEqual(['heard 1', 'answered 1 staged']);
  });

  it('may be followed by the loss of the peer in the same call', async () => {
    await beginAll();
    rig.within = (call) => {
      if (call.startsWith('heard')) rig.host.gone(B);
    };
    rig.to(B).options.onAnswer([staged(0), staged(0)]);
    await rig.turn();
    expect(rig.to(B).isClosed).toBe(true);
    expect(rig.fatal).toEqual([]);
  });
});
