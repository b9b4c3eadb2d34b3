/** The links of a pserver to its peers, step by step. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaFrame } from '../../../src/core/replicas/messages.ts';
import type { PeerBatch, SharedPayload } from '../../../src/core/replicas/peer-link.ts';
import { PeerLinks } from '../../../src/core/replicas/peer-links.ts';
import { B, C } from './copies.ts';
import { begin, linkTo, PART, payload, stage, staged } from './link-frames.ts';

/** Of a batch: what each frame is, about which unit, and the commit position that it tells. */
const told = ({ frames }: PeerBatch<SharedPayload>): [string, number, number][] =>
  frames.map(({ link, frame }) => [frame.type, link.unit, frame.committed]);

describe('what goes to a peer', () => {
  let links: PeerLinks<SharedPayload>;
  let connection: number;
  const send = (unit: number, frame: ReplicaFrame<SharedPayload>, epoch = 1): void =>
    links.effects(unit, [{ type: 'send', link: linkTo(unit, B, epoch), frame }]);
  const sent = (): PeerBatch<SharedPayload>[] => links.batches(true).map(({ batch }) => batch);

  beforeEach(() => {
    links = new PeerLinks(2);
    connection = links.opened(B, 10 * PART);
    for (const unit of [1, 2, 3]) links.setPeers(unit, [B]);
  });

  it('is one batch for an update in many units, and commit positions ride on it', () => {
    const one = payload(1, 1, 2);
    send(3, { type: 'commit', committed: 7 });
    send(1, stage(one, 1));
    send(2, stage(one, 1));
    const [batch, ...others] = sent();
    expect(others).toEqual([]);
    expect(told(batch!)).toEqual([
      ['stage', 1, 0],
      ['stage', 2, 0],
      ['commit', 3, 7],
    ]);
  });

  it('is a commit position alone when nothing else goes', () => {
    send(1, { type: 'commit', committed: 4 });
    send(1, { type: 'commit', committed: 5 });
    send(2, { type: 'commit', committed: 2 });
    expect(sent().map(told)).toEqual([
      [
        ['commit', 1, 5],
        ['commit', 2, 2],
      ],
    ]);
  });

  it('is at most two batches that are not answered, and a stage that has waited tells the newest position', () => {
    for (const at of [1, 2, 3]) send(1, stage(payload(at, 1), at));
    expect(sent().map(({ order }) => order)).toEqual([1, 2]);
    send(1, { type: 'commit', committed: 2 });
    expect(sent()).toEqual([]);
    expect(links.answered(B, connection, [staged(1, 0)])).toHaveLength(1);
    expect(sent().map(told)).toEqual([[['stage', 1, 2]]]);
  });

  it('has one frame of a unit in each batch: what comes after a beginning goes with the next', () => {
    const one = payload(1, 1, 2);
    for (const unit of [1, 3]) send(unit, begin);
    for (const unit of [1, 2]) send(unit, stage(one, 1));
    send(3, { type: 'commit', committed: 7 });
    const batches = sent().map((batch) => [batch.order, ...told(batch).flat()].join(' '));
    expect(batches).toEqual(['1 begin 1 0 begin 3 0 stage 2 0', '1 stage 1 0 commit 3 7']);
  });

  it('is in the order of the updates, also where a unit is begun with later', () => {
    const [one, two] = [payload(1, 1, 2), payload(2, 1, 2)];
    send(3, stage(payload(8, 3), 1));
    send(3, stage(payload(9, 3), 2));
    sent();
    // Unit 1 has the first one already.
    send(1, stage(two, 2));
    for (const [at, update] of [one, two].entries()) send(2, stage(update, at + 1));
    links.answered(B, connection, [staged(1, 0)]);
    links.answered(B, connection, [staged(2, 0)]);
    expect(sent().map(({ order, frames }) => [order, ...frames.map(({ link }) => link.unit)])).toEqual([
      [1, 2],
      [2, 1, 2],
    ]);
  });

  it('is forgotten with its connection, and an answer of that counts for nothing', () => {
    send(1, begin);
    send(2, begin);
    expect(sent()).toHaveLength(1);
    send(1, stage(payload(1, 1), 1));
    links.closed(B, connection);
    send(3, begin);
    expect(sent()).toEqual([]);
    const next = links.opened(B, 10 * PART);
    links.closed(B, connection);
    send(1, begin);
    expect(sent().map(told)).toEqual([[['begin', 1, 0]]]);
    expect(links.answered(B, connection, [staged(1, 0), staged(1, 0)])).toEqual([]);
    expect(links.answered(B, next, [staged(0, 0)])).toHaveLength(1);
  });

  it('has one answer for each frame', () => {
    send(1, begin);
    sent();
    expect(links.answered(B, connection, [staged(0, 0), staged(0, 0)])).toBeUndefined();
    expect(links.answered(B, connection, [undefined])).toEqual([{ link: linkTo(1), answer: undefined }]);
    expect(links.answered(B, connection, [])).toBeUndefined();
  });

  it('says what is left until that is answered', () => {
    links.setPeers(1, []);
    expect(sent()).toMatchObject([{ left: [1], frames: [] }]);
    expect(sent()).toEqual([]);
    links.closed(B, connection);
    connection = links.opened(B, 10 * PART);
    send(2, begin);
    expect(sent()).toMatchObject([{ left: [1] }]);
    links.answered(B, connection, [staged(0, 0)]);
    links.closed(B, connection);
    links.opened(B, 10 * PART);
    expect(sent()).toEqual([]);
  });

  it('gets no answer about a copy that was left, though the unit is begun with again in the same epoch', () => {
    send(1, begin);
    send(2, begin);
    sent();
    links.setPeers(1, []);
    links.setPeers(1, [B]);
    send(1, begin);
    expect(sent()).toMatchObject([{ left: [1] }]);
    const answers = [staged(9, 9), staged(0, 0)];
    expect(links.answered(B, connection, answers)).toEqual([{ link: linkTo(2), answer: staged(0, 0) }]);
    expect(links.answered(B, connection, [staged(0, 0)])).toEqual([{ link: linkTo(1), answer: staged(0, 0) }]);
  });

  it('says again what is left again', () => {
    links.setPeers(1, []);
    expect(sent()).toMatchObject([{ left: [1] }]);
    links.setPeers(1, [B]);
    links.setPeers(1, []);
    expect(sent()).toMatchObject([{ left: [1] }]);
    links.answered(B, connection, []);
    links.answered(B, connection, []);
    links.setPeers(1, [B]);
    send(1, begin);
    expect(sent()).toMatchObject([{ left: [], frames: [{}] }]);
  });

  it('says which updates the peer has no room reserved for', () => {
    const [one, two] = [payload(1, 1), payload(2, 1)];
    links.queue.ask(1, two.bytesByUnit);
    expect(links.queue.grant()).toEqual([1]);
    links.queue.place(1, two, [{ unit: 1, name: { position: 2, epoch: 1 } }]);
    send(1, stage(one, 1));
    send(1, stage(two, 2));
    expect(sent().map(({ isLate }) => isLate)).toEqual([true, false]);
  });
});

describe('room', () => {
  let links: PeerLinks<SharedPayload>;
  let toB: number;
  const ask = (id: number, ...units: number[]): void => links.queue.ask(id, payload(1, ...units).bytesByUnit);
  const place = (id: number, order: number, ...units: number[]): void =>
    links.queue.place(
      id,
      payload(order, ...units),
      units.map((unit) => ({ unit, name: { position: order, epoch: 1 } })),
    );
  const answer = (unit: number, committed: number, epoch = 1): void => {
    links.effects(unit, [{ type: 'send', link: linkTo(unit, B, epoch), frame: begin }]);
    links.batches(true);
    links.answered(B, toB, [staged(committed, committed)]);
  };

  beforeEach(() => {
    links = new PeerLinks(2);
    toB = links.opened(B, 2 * PART);
    links.opened(C, 2 * PART);
    links.setPeers(1, [B]);
    links.setPeers(2, [B]);
    links.setPeers(3, [C]);
    links.setPeers(4, [B, C]);
  });

  it('is granted at all peers at once, in the order of the asking', () => {
    ask(1, 1);
    ask(2, 4);
    ask(3, 1, 3);
    ask(4, 3);
    ask(5, 2);
    expect(links.queue.grant()).toEqual([1, 2]);
    expect([links.takenAt(B), links.takenAt(C)]).toEqual([2 * PART, PART]);
    links.queue.cancel(3);
    expect(links.queue.grant()).toEqual([4]);
    links.queue.cancel(2);
    expect(links.queue.grant()).toEqual([5]);
  });

  it('is not taken by one that came later at a peer that an earlier one waits for', () => {
    ask(1, 1);
    ask(2, 1, 2);
    ask(3, 2);
    ask(4, 3);
    expect(links.queue.grant()).toEqual([1, 4]);
    links.queue.cancel(1);
    expect(links.queue.grant()).toEqual([2]);
  });

  it('is there for an update larger than the window when nothing else is', () => {
    links.setPeers(5, [B]);
    ask(1, 1);
    ask(2, 1, 2, 5);
    expect(links.queue.grant()).toEqual([1]);
    links.queue.cancel(1);
    expect(links.queue.grant()).toEqual([2]);
  });

  it('is missing before the peer has told its window', () => {
    links.setPeers(5, [{ index: 5, token: '1' }]);
    ask(1, 5);
    expect(links.queue.grant()).toEqual([]);
    links.setPeers(5, []);
    expect(links.queue.grant()).toEqual([1]);
  });

  it('is free again when the peer has applied the update in all units', () => {
    ask(1, 1, 2);
    expect(links.queue.grant()).toEqual([1]);
    place(1, 1, 1, 2);
    answer(1, 1);
    expect(links.takenAt(B)).toBe(2 * PART);
    answer(2, 1);
    expect(links.takenAt(B)).toBe(0);
  });

  it('is free again when the peer answers in the epoch after the drop, and not before', () => {
    ask(1, 1);
    links.queue.grant();
    place(1, 1, 1);
    links.effects(1, [
      { type: 'send', link: linkTo(1), frame: begin },
      { type: 'drop', names: [{ position: 1, epoch: 1 }] },
    ]);
    links.batches(true);
    links.effects(1, [{ type: 'send', link: linkTo(1, B, 2), frame: begin }]);
    links.batches(true);
    links.answered(B, toB, [staged(1, 0)]);
    expect(links.takenAt(B)).toBe(PART);
    links.answered(B, toB, [staged(0, 0)]);
    expect(links.takenAt(B)).toBe(0);
  });

  it('is not waited for at a peer that was taken out, or of a unit that was handed over', () => {
    ask(1, 1, 2);
    links.queue.grant();
    place(1, 1, 1, 2);
    ask(2, 4);
    ask(3, 1);
    expect(links.queue.grant()).toEqual([]);
    links.setPeers(4, [C]);
    expect(links.queue.grant()).toEqual([2]);
    links.setPeers(1, []);
    expect(links.queue.grant()).toEqual([3]);
    links.setPeers(2, []);
    expect(links.takenAt(B)).toBe(0);
  });

  it('is forgotten with a process that is gone, once it is in no set', () => {
    ask(1, 1);
    links.queue.grant();
    place(1, 1, 1);
    links.gone(B);
    expect(links.takenAt(B)).toBe(PART);
    for (const unit of [1, 2, 4]) links.setPeers(unit, []);
    expect(links.takenAt(B)).toBe(0);
    expect(links.batches(true).map(({ peer }) => peer)).toEqual([C]);
  });

  it('goes back when one that was granted it is not placed, and goes to the next', () => {
    for (const id of [1, 2, 3]) ask(id, 1);
    expect(links.queue.grant()).toEqual([1, 2]);
    links.queue.cancel(2);
    expect(links.queue.grant()).toEqual([3]);
    links.queue.cancel(1);
    links.queue.cancel(3);
    expect(links.takenAt(B)).toBe(0);
  });
});
