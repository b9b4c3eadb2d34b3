/** What a pserver holds, and has received, of the primaries that it backs up, step by step. */
import { beforeEach, describe, expect, it } from 'vitest';
import { BackupRoom } from '../../../src/core/replicas/backup-room.ts';
import type { ReplicaFrame } from '../../../src/core/replicas/messages.ts';
import { PeerInbox } from '../../../src/core/replicas/peer-inbox.ts';
import type { PeerBatch, SharedPayload } from '../../../src/core/replicas/peer-link.ts';
import { B } from './copies.ts';
import { begin, linkTo, PART, payload, stage, staged } from './link-frames.ts';

describe('what a backup holds of a primary', () => {
  let room: BackupRoom<string>;
  const received = (order: number, bytes: number, isLate = false) => ({ order, bytes, isLate });

  beforeEach(() => {
    room = new BackupRoom({ windowBytes: 100, lateBytes: 200, largestBytes: 1000 });
  });

  it('is no more than the window, or one update that is larger, in parts if need be', () => {
    expect([room.admits(received(1, 1000)), room.admits(received(1, 1001))]).toEqual([true, false]);
    room.take('a', received(1, 60), [1, 2]);
    expect([room.admits(received(2, 40)), room.admits(received(2, 41))]).toEqual([true, false]);
    expect([room.admits(received(1, 940)), room.admits(received(1, 941))]).toEqual([true, false]);
    room.keep(1, []);
    expect(room.windowTakenBytes).toBe(60);
    room.keep(2, [{ payload: 'b' }]);
    expect(room.windowTakenBytes).toBe(0);
  });

  it('has room of its own for what is late', () => {
    room.take('a', received(1, 100), [1]);
    room.take('b', received(2, 150, true), [1]);
    expect([room.windowTakenBytes, room.lateTakenBytes]).toEqual([100, 150]);
    expect([room.admits(received(3, 50, true)), room.admits(received(3, 51, true))]).toEqual([true, false]);
    room.keep(1, [{ payload: 'a' }]);
    expect([room.windowTakenBytes, room.lateTakenBytes]).toEqual([100, 0]);
  });

  it('takes no room of the window in units that the primary has left', () => {
    room.take('a', received(1, 100), [1, 2]);
    room.left(1);
    expect([room.windowTakenBytes, room.lateTakenBytes]).toEqual([100, 0]);
    room.left(2);
    expect([room.windowTakenBytes, room.lateTakenBytes]).toEqual([0, 100]);
    expect(room.admits(received(2, 100))).toBe(true);
    room.keep(1, []);
    room.keep(2, []);
    expect(room.lateTakenBytes).toBe(0);
  });
});

describe('what a backup has received', () => {
  let inbox: PeerInbox<SharedPayload>;
  const batch = (order: number, ...frames: [number, ReplicaFrame<SharedPayload>][]): PeerBatch<SharedPayload> => ({
    ...{ left: [], order, isLate: false },
    frames: frames.map(([unit, frame]) => ({ link: linkTo(unit), frame })),
  });

  beforeEach(() => {
    inbox = new PeerInbox({ windowBytes: PART, lateBytes: PART, largestBytes: 100 * PART });
  });

  it('is refused when it goes beyond the window', () => {
    expect(inbox.received(batch(1, [1, stage(payload(1, 1), 1)]))).toBeDefined();
    expect(inbox.received(batch(2, [2, stage(payload(2, 2), 1)]))).toBeUndefined();
    // An update without content takes room, too.
    expect(inbox.received(batch(3, [2, stage(payload(3), 1)]))).toBeUndefined();
    expect(inbox.received({ ...batch(4, [2, stage(payload(4, 2), 1)]), left: [1] })).toBeDefined();
  });

  it('takes no room again for a part that has come again, while the payload that came with it is here', () => {
    inbox = new PeerInbox({ windowBytes: 2 * PART, lateBytes: PART, largestBytes: 100 * PART });
    const first = payload(1, 1, 2);
    inbox.received(batch(1, [1, stage(first, 1)], [2, stage(first, 1)]));
    // The copy of unit 1 follows another epoch by now, and does not take its part.
    inbox.room.keep(1, []);
    const again = stage(payload(1, 1), 1);
    const frames = inbox.received(batch(1, [1, again]));
    expect(frames?.map(({ frame }) => frame.type === 'stage' && frame.update.payload)).toEqual([first]);
    expect(inbox.room.windowTakenBytes).toBe(2 * PART);
    inbox.room.keep(2, []);
    expect(inbox.room.windowTakenBytes).toBe(2 * PART);
    inbox.room.keep(1, []);
    expect(inbox.room.windowTakenBytes).toBe(0);
    // The payload is gone: the part is one of its own.
    expect(inbox.received(batch(1, [1, again]))?.[0]?.frame).toBe(again);
    expect(inbox.room.windowTakenBytes).toBe(PART);
  });

  it('has a payload once in each unit: what a copy has staged is not given to it again', () => {
    inbox = new PeerInbox({ windowBytes: 3 * PART, lateBytes: PART, largestBytes: 100 * PART });
    const first = payload(1, 1, 2);
    inbox.received(batch(1, [1, stage(first, 1)], [2, stage(first, 1)]));
    const other = stage(payload(1, 1), 1);
    expect(inbox.received(batch(1, [1, other]))?.[0]?.frame).toBe(other);
    expect(inbox.room.windowTakenBytes).toBe(3 * PART);
  });

  it('is answered in order, when all beginnings are', () => {
    inbox.received(batch(0, [1, begin], [2, { type: 'commit', committed: 1 }]));
    inbox.received(batch(0, [3, begin]));
    inbox.answered(linkTo(3), staged(3, 3));
    inbox.answered(linkTo(1, B, 7), staged(1, 1));
    expect(inbox.answers()).toEqual([]);
    inbox.answered(linkTo(1), staged(1, 1));
    expect(inbox.answers()).toEqual([[staged(1, 1), undefined], [staged(3, 3)]]);
    expect(inbox.answers()).toEqual([]);
  });

  it('is refused for units without copy, even when the copy goes while the beginning waits', () => {
    inbox.received(batch(1, [1, begin], [2, stage(payload(1, 2), 1)]));
    inbox.hasNone(2);
    expect(inbox.answers()).toEqual([]);
    inbox.hasNone(1);
    const unfit = { type: 'refused', why: 'unfit' };
    expect(inbox.answers()).toEqual([[unfit, unfit]]);
    expect(inbox.room.windowTakenBytes).toBe(0);
  });

  it('is not answered on another connection', () => {
    inbox.received(batch(0, [1, begin]));
    inbox.opened();
    inbox.answered(linkTo(1), staged(1, 1));
    expect(inbox.answers()).toEqual([]);
  });
});
