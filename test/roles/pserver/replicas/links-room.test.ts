/** Room at the peers of an update is offered before it is placed. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { SharedPayload } from '../../../../src/core/replicas/peer-link.ts';
import { B } from '../../../core/replicas/copies.ts';
import { begin, LinksRig, PART, payload, send, sizes, stage, staged } from './links-rig.ts';

let rig: LinksRig;

beforeEach(() => {
  rig = new LinksRig();
});

describe('room at peers', () => {
  const asks = (name: string, ...units: number[]) => rig.host.ask(sizes(...units), () => rig.tell(name));
  const placing = (order: number, unit: number) =>
    rig.host.ask(sizes(unit), (takeRoom) => {
      rig.told.push(`room ${order}`);
      const update = payload(order, unit);
      takeRoom(update, [{ unit, name: { position: order, epoch: 1 } }]);
      rig.host.stepped(unit, [send(unit, B, stage(update, order))], [B]);
    });
  const begun = async (parts: number): Promise<void> => {
    await rig.linked(B, parts, 1);
    rig.host.stepped(1, [send(1, B, begin)], [B]);
    await rig.turn();
    rig.to(B).options.onAnswer([staged(0)]);
    await rig.turn();
    rig.told.length = 0;
  };
  const commit = async (committed: number): Promise<void> => {
    rig.to(B).options.onAnswer([staged(committed, committed)]);
    await rig.turn();
  };

  it('is offered when the caller has returned, where no peer has a part in it as well', async () => {
    asks('room', 7);
    expect(rig.told).toEqual([]);
    await rig.turn();
    expect(rig.told).toEqual(['room']);
  });

  it('is offered when the peers have it, in the order of the calls', async () => {
    await begun(2);
    for (const order of [1, 2, 3, 4]) placing(order, 1);
    await rig.turn();
    expect(rig.told).toEqual(['room 1', 'room 2']);
    expect(rig.host.takenAt(B)).toBe(2 * PART);
    await commit(1);
    expect(rig.told.filter((call) => call.startsWith('room'))).toEqual(['room 1', 'room 2', 'room 3']);
    await commit(2);
    await commit(3);
    await commit(4);
    expect(rig.told.filter((call) => call.startsWith('room'))).toHaveLength(4);
    expect(rig.host.takenAt(B)).toBe(0);
  });

  it('is free again when it is not taken at once', async () => {
    await rig.linked(B, 1, 1);
    rig.told.length = 0;
    for (const name of ['first', 'second', 'third']) asks(name, 1);
    await rig.turn();
    expect(rig.told).toEqual(['first', 'second', 'third']);
    expect(rig.host.takenAt(B)).toBe(0);
  });

  it('is taken within the call that offers it, and once', async () => {
    let kept: ((update: SharedPayload, placed: readonly []) => void) | undefined;
    rig.host.ask(sizes(1), (takeRoom) => {
      kept = takeRoom;
    });
    await rig.turn();
    expect(() => kept?.(payload(1, 1), [])).toThrow('at once');
    rig.host.ask(sizes(1), (takeRoom) => {
      takeRoom(payload(1, 1), []);
      takeRoom(payload(1, 1), []);
    });
    await rig.turn();
    expect(String(rig.fatal)).toContain('room is taken once');
  });

  it('is waited for no more when the wait is ended, also while another one is called', async () => {
    await begun(1);
    placing(1, 1);
    const end = asks('never', 1);
    asks('later', 1);
    await rig.turn();
    expect(rig.told).toEqual(['room 1']);
    end();
    end();
    await commit(1);
    expect(rig.told.filter((call) => call === 'never' || call === 'later')).toEqual(['later']);
    rig.told.length = 0;
    // Both have room, and the first ends the second.
    rig.host.ask(sizes(7), () => endSecond());
    const endSecond = asks('second', 7);
    await rig.turn();
    expect(rig.told).toEqual([]);
    expect(rig.fatal).toEqual([]);
  });

  it('is asked for within a call that offers it', async () => {
    await rig.linked(B, 1, 1);
    rig.told.length = 0;
    rig.within = (call) => {
      if (call === 'outer') asks('inner', 1);
    };
    asks('outer', 1);
    await rig.turn();
    expect(rig.told).toEqual(['outer', 'inner']);
  });

  it('is waited for no longer at a peer that was taken out', async () => {
    await rig.linked(B, 1, 1, 2);
    rig.told.length = 0;
    placing(1, 1);
    asks('room', 2);
    await rig.turn();
    expect(rig.told).toEqual(['room 1']);
    rig.host.stepped(2, [], []);
    await rig.turn();
    expect(rig.told).toEqual(['room 1', 'room']);
  });

  it('is not offered before the peer has told its window', async () => {
    rig.host.stepped(1, [], [B]);
    asks('room', 1);
    await rig.turn();
    expect(rig.told).toEqual([]);
    rig.to(B).options.onOpened(PART);
    await rig.turn();
    expect(rig.told).toEqual(['connected 1', 'room']);
  });
});

it('gives a bug of its units to its owner, and goes on', async () => {
  rig.host.ask(sizes(1), () => {
    throw new Error('a bug');
  });
  await rig.turn();
  expect(String(rig.fatal)).toBe('Error: a bug');
  rig.host.ask(sizes(1), () => rig.tell('room'));
  await rig.turn();
  expect(rig.told).toEqual(['room']);
});
