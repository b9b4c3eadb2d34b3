/** The side of a move that leads the unit. `move-model.test.ts` has all that can happen to both. */
import { describe, expect, it } from 'vitest';
import type { MoveAnswer, MoveName } from '../../../src/core/units/move-messages.ts';
import type { MoveSource, SourceEffect } from '../../../src/core/units/move-source.ts';
import { createSource, MoveRig, NAME, type Payload, SHARDS } from './move-rig.ts';

const typesOf = (effects: readonly SourceEffect<Payload>[]): string[] => effects.map(({ type }) => type);
const answer = (source: MoveSource<Payload>, one: MoveAnswer, now = 0): string[] =>
  typesOf(source.step({ type: 'answer', answer: one }, now));
const update = (source: MoveSource<Payload>, ticket: number, byteLength = 10): string[] =>
  typesOf(source.step({ type: 'applied', payload: ticket, byteLength, ticket }, 0));
const capture = (source: MoveSource<Payload>, shard: number, byteLength = 30): string[] =>
  typesOf(source.step({ type: 'captured', shard, pieces: [{ payload: [], byteLength }] }, 0));

function accepted(windowBytes = 100): MoveSource<Payload> {
  const source = createSource(windowBytes);
  source.step({ type: 'connected' }, 0);
  expect(answer(source, { type: 'accepted', name: NAME })).toEqual(['capture']);
  return source;
}

/** All shards are at the target. */
function caughtUp(): MoveSource<Payload> {
  const source = accepted(1_000);
  SHARDS.forEach((shard, at) => {
    expect(capture(source, shard)).toEqual(at < SHARDS.length - 1 ? ['send', 'capture'] : ['send']);
  });
  expect(answer(source, { type: 'taken', name: NAME, next: SHARDS.length })).toEqual(['caughtUp']);
  return source;
}

function deciding(): MoveSource<Payload> {
  const source = caughtUp();
  expect(typesOf(source.step({ type: 'handOver' }, 0))).toEqual(['send']);
  expect(answer(source, { type: 'sealed', name: NAME, position: 0 })).toEqual(['propose']);
  return source;
}

const OTHERS: readonly MoveName[] = [
  { ...NAME, purpose: 'copy' },
  { ...NAME, unit: 4 },
  { ...NAME, epoch: 6 },
  { ...NAME, attempt: 2 },
  { ...NAME, source: { index: 0, token: '18' } },
  { ...NAME, target: { index: 1, token: '30' } },
  { ...NAME, target: { index: 2, token: '29' } },
];

describe('the source of a move', () => {
  it('proposes a head that names the target, on the head as it was and on both tokens', () => {
    const source = caughtUp();
    source.step({ type: 'handOver' }, 0);
    const effects = source.step({ type: 'answer', answer: { type: 'sealed', name: NAME, position: 0 } }, 0);
    expect(effects).toEqual([
      {
        type: 'propose',
        handOver: { unit: 3, from: 5, epoch: 6, primary: NAME.target, alive: [NAME.source, NAME.target] },
      },
    ]);
    expect(typesOf(source.step({ type: 'decided', outcome: 'succeeded' }, 0))).toEqual(['moved', 'send']);
    expect(source.isEnded).toBe(true);
  });

  it('answers everything until it hands over, then reads only, then nothing', () => {
    const admitted = (source: MoveSource<Payload>) => [source.admits('read'), source.admits('update')];
    const source = caughtUp();
    expect(admitted(source)).toEqual([true, true]);
    source.step({ type: 'handOver' }, 0);
    expect(admitted(source)).toEqual([true, false]);
    answer(source, { type: 'sealed', name: NAME, position: 0 });
    expect(admitted(source)).toEqual([false, false]);
    source.step({ type: 'decided', outcome: 'unknown' }, 0);
    expect(admitted(source)).toEqual([false, false]);
    const kept = deciding();
    kept.step({ type: 'decided', outcome: 'failed', primary: NAME.source }, 0);
    expect(admitted(kept)).toEqual([true, true]);
  });

  it.each(OTHERS)('takes no answer of another move: %o', (name) => {
    const offered = createSource();
    for (const type of ['accepted', 'discarded'] as const) answer(offered, { type, name });
    answer(offered, { type: 'refused', name, reason: 'full' });
    expect(offered.state().phase).toBe('offering');
    const source = caughtUp();
    source.step({ type: 'handOver' }, 0);
    expect(answer(source, { type: 'sealed', name, position: 0 })).toEqual([]);
    expect(answer(source, { type: 'taken', name, next: 4 })).toEqual([]);
    expect(source.state().phase).toBe('sealing');
  });

  it('takes no seal at another position, and no more than it sent', () => {
    const source = caughtUp();
    update(source, 1);
    expect(answer(source, { type: 'taken', name: NAME, next: 9 })).toEqual([]);
    source.step({ type: 'handOver' }, 0);
    expect(answer(source, { type: 'sealed', name: NAME, position: 0 })).toEqual([]);
    expect(answer(source, { type: 'sealed', name: NAME, position: 1 })).toEqual(['propose']);
  });

  it('forwards no update before the first shard is captured, and every one after', () => {
    const source = accepted();
    expect(update(source, 1)).toEqual(['acknowledge']);
    expect(capture(source, SHARDS[0]!)).toEqual(['send', 'capture']);
    expect(update(source, 2)).toEqual(['send', 'acknowledge']);
    expect(source.state().window.frames.map(({ content }) => content)).toEqual([
      { type: 'piece', shard: SHARDS[0], isLast: true, position: 1, payload: [] },
      { type: 'update', position: 2, payload: 2 },
    ]);
  });

  it('keeps the window, and lets answers to updates wait while more than a window of them does', () => {
    const source = accepted(30);
    expect(capture(source, SHARDS[0]!)).toEqual(['send', 'capture']);
    for (const ticket of [1, 2, 3]) expect(update(source, ticket)).toEqual(['acknowledge']);
    expect(update(source, 4)).toEqual([]);
    expect(capture(source, SHARDS[1]!)).toEqual([]);
    expect(answer(source, { type: 'taken', name: NAME, next: 1 })).toEqual(['send', 'send', 'send', 'acknowledge']);
    expect(answer(source, { type: 'taken', name: NAME, next: 2 })).toEqual(['send']);
  });

  it('sends a frame larger than the window alone', () => {
    const source = accepted(30);
    expect(capture(source, SHARDS[0]!, 500)).toEqual(['send', 'capture']);
    expect(update(source, 1)).toEqual(['acknowledge']);
    expect(answer(source, { type: 'taken', name: NAME, next: 1 })).toEqual(['send']);
  });

  it('does not hand over before the target has all shards', () => {
    const source = accepted(1_000);
    source.step({ type: 'handOver' }, 0);
    for (const shard of SHARDS) capture(source, shard);
    expect(source.admits('update')).toBe(true);
    expect(answer(source, { type: 'taken', name: NAME, next: 3 })).toEqual(['send']);
    expect(source.admits('update')).toBe(false);
  });

  it('asks the store until it answers', () => {
    const source = deciding();
    for (let tries = 0; tries < 3; tries++) {
      expect(typesOf(source.step({ type: 'decided', outcome: 'unknown' }, 0))).toEqual(['propose']);
    }
    // The transaction failed, since an earlier try of it had succeeded.
    const after = source.step({ type: 'decided', outcome: 'failed', primary: NAME.target }, 0);
    expect(typesOf(after)).toEqual(['moved', 'send']);
  });

  it('lets nothing but the answer of the store end what it proposed', () => {
    const source = deciding();
    expect(source.nextDeadline()).toBeUndefined();
    expect(source.step({ type: 'targetGone' }, 0)).toEqual([]);
    expect(source.step({ type: 'abandon', reason: 'stop' }, 0)).toEqual([]);
    expect(source.step({ type: 'tick' }, 1_000_000)).toEqual([]);
    expect(answer(source, { type: 'refused', name: NAME, reason: 'no copy' })).toEqual([]);
    expect(answer(source, { type: 'discarded', name: NAME })).toEqual([]);
    expect(source.state().phase).toBe('deciding');
  });

  it('tells the target of an abandoned move until it answers', () => {
    const source = caughtUp();
    expect(typesOf(source.step({ type: 'abandon', reason: 'stop' }, 0))).toEqual(['abandoned', 'send']);
    expect(typesOf(source.step({ type: 'tick' }, 999))).toEqual([]);
    expect(typesOf(source.step({ type: 'tick' }, 1_000))).toEqual(['send']);
    expect(typesOf(source.step({ type: 'connected' }, 1_500))).toEqual(['send']);
    expect(update(source, 1)).toEqual(['acknowledge']);
    expect(source.isEnded).toBe(false);
    answer(source, { type: 'discarded', name: NAME });
    expect(source.isEnded).toBe(true);
  });

  it('gives up a target that is silent or gone, and answers the updates that waited', () => {
    const silent = accepted(30);
    capture(silent, SHARDS[0]!);
    for (const ticket of [1, 2, 3]) update(silent, ticket);
    expect(update(silent, 4)).toEqual([]);
    expect(silent.nextDeadline()).toBe(1_000);
    expect(silent.step({ type: 'tick' }, 999)).toEqual([]);
    expect(silent.step({ type: 'tick' }, 1_000)).toEqual([
      { type: 'abandoned', reason: 'the target is silent' },
      { type: 'send', message: { type: 'abandon', name: NAME } },
      { type: 'acknowledge', ticket: 4 },
    ]);
    const gone = caughtUp();
    expect(typesOf(gone.step({ type: 'targetGone' }, 0))).toEqual(['abandoned']);
    expect(gone.isEnded).toBe(true);
  });

  it('ends at once when a target is gone that was to be told', () => {
    const told = caughtUp();
    told.step({ type: 'abandon', reason: 'stop' }, 0);
    expect(told.step({ type: 'targetGone' }, 0)).toEqual([]);
    expect(told.isEnded).toBe(true);
    // It was known to be gone before the store said so.
    const source = deciding();
    source.step({ type: 'targetGone' }, 0);
    expect(typesOf(source.step({ type: 'decided', outcome: 'failed', primary: NAME.source }, 0))).toEqual([
      'abandoned',
    ]);
    expect(source.isEnded).toBe(true);
  });

  it('counts no silence while it waits for nothing, or was suspended itself', () => {
    const source = caughtUp();
    expect(source.nextDeadline()).toBeUndefined();
    source.step({ type: 'applied', payload: 1, byteLength: 1, ticket: 1 }, 5_000);
    expect(source.nextDeadline()).toBe(6_000);
    source.step({ type: 'resumed' }, 9_000);
    expect(source.nextDeadline()).toBe(10_000);
  });

  it('limits how long updates wait for the seal, even if the target goes on taking frames', () => {
    const rig = new MoveRig(10);
    rig.settle();
    rig.submit({ type: 'handOver' }, 0);
    expect(rig.source.nextDeadline()).toBe(1_000);
    const source = caughtUp();
    for (let ticket = 0; ticket < 9; ticket++) update(source, ticket);
    source.step({ type: 'handOver' }, 0);
    for (let at = 1; at <= 3; at++) answer(source, { type: 'taken', name: NAME, next: SHARDS.length + at }, at * 900);
    expect(source.nextDeadline()).toBe(3_000);
    expect(typesOf(source.step({ type: 'tick' }, 3_000))).toEqual(['abandoned', 'send']);
  });
});
