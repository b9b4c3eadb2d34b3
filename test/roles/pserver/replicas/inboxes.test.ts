/** What primaries send: only their newest connection counts, and what has no room is refused. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { PaddletError } from '../../../../src/base/errors.ts';
import { roomOf } from '../../../../src/core/replicas/peer-link.ts';
import type { Session } from '../../../../src/protocol/messages/channel.ts';
import { Inboxes } from '../../../../src/roles/pserver/replicas/inboxes.ts';
import { SharedUpdate } from '../../../../src/roles/pserver/update/shared-update.ts';
import { A, B } from '../../../core/replicas/copies.ts';
import type { Batch } from './batches.ts';
import { PARTS } from './updates.ts';

const UNIT = 0;
const LINK = { unit: UNIT, epoch: 1, primary: A, member: B };
const [first, second] = [{}, {}] as unknown as [Session, Session];

let frames: string[];
let hasCopy: boolean;
let inboxes: Inboxes;

const payload = (order: number): SharedUpdate =>
  new SharedUpdate({ of: PARTS, order, update: { type: 'close', tasks: [] }, units: [UNIT] });
const ROOM = roomOf(payload(1), [UNIT]);

function stage(order: number): Batch {
  const update = { name: { position: order, epoch: 1 }, payload: payload(order) };
  return { left: [], frames: [{ link: LINK, frame: { type: 'stage', update, committed: 0 } }], order, isLate: false };
}
const begin: Batch = {
  ...{ left: [], order: 0, isLate: false },
  frames: [{ link: LINK, frame: { type: 'begin', base: 0, tail: [], committed: 0 } }],
};

/** As the turn of the machines after the frames. */
function turn(through: number): void {
  inboxes.answered(LINK, { type: 'staged', through, committed: 0 });
  inboxes.giveAnswers();
}

beforeEach(() => {
  frames = [];
  hasCopy = true;
  inboxes = new Inboxes({
    room: { windowBytes: ROOM, lateBytes: ROOM, largestBytes: ROOM },
    hasCopy: () => hasCopy,
    onFrame: ({ frame }) => frames.push(frame.type),
  });
});

const codeOf = (error: PaddletError): string => error.code;

describe('an inbox', () => {
  it('tells the window, and gives frames to the machine of their unit', async () => {
    expect(inboxes.opened(A, first)).toBe(ROOM);
    const answer = inboxes.received(A, begin, first);
    expect(frames).toEqual(['begin']);
    turn(0);
    expect(await answer).toEqual([{ type: 'staged', through: 0, committed: 0 }]);
  });

  it('answers an update when the machine of its unit has had its turn', async () => {
    inboxes.opened(A, first);
    const answer = inboxes.received(A, stage(1), first);
    turn(1);
    expect(await answer).toEqual([{ type: 'staged', through: 1, committed: 0 }]);
  });

  it('answers for a unit of which there is no copy', async () => {
    inboxes.opened(A, first);
    hasCopy = false;
    expect(await inboxes.received(A, begin, first)).toEqual([{ type: 'refused', why: 'unfit' }]);
    expect(frames).toEqual([]);
  });

  it('takes nothing on an older connection, and answers nothing that came on it', async () => {
    inboxes.opened(A, first);
    const waiting = inboxes.received(A, begin, first).catch(codeOf);
    inboxes.opened(A, second);
    expect(await waiting).toBe('NotReady');
    expect(() => inboxes.received(A, begin, first)).toThrow('another connection');
  });

  it('refuses what goes beyond the window, and that connection', async () => {
    inboxes.opened(A, first);
    inboxes.received(A, stage(1), first).catch(codeOf);
    expect(() => inboxes.received(A, stage(2), first)).toThrow('room');
    expect(() => inboxes.received(A, begin, first)).toThrow('another connection');
    expect(frames).toEqual(['stage']);
  });

  it('has room again when the copy has applied what was staged', async () => {
    inboxes.opened(A, first);
    for (const order of [1, 2]) {
      const answer = inboxes.received(A, stage(order), first);
      turn(order);
      await answer;
      inboxes.keep(UNIT, []);
    }
    expect(frames).toEqual(['stage', 'stage']);
  });

  it('of a process that is gone answers nothing', async () => {
    inboxes.opened(A, first);
    const waiting = inboxes.received(A, begin, first).catch(codeOf);
    inboxes.gone(A);
    expect(await waiting).toBe('NotReady');
  });
});
