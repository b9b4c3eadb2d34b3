/** The side of a move that is to lead the unit. `move-model.test.ts` has all that can happen to both. */
import { describe, expect, it } from 'vitest';
import type { MoveContent, MoveName } from '../../../src/core/units/move-messages.ts';
import type { MoveTarget, TargetEffect, TargetEvent } from '../../../src/core/units/move-target.ts';
import { MoveTarget as Target } from '../../../src/core/units/move-target.ts';
import { createTarget, HEAD, NAME, NEXT_HEAD, type Payload, SHARDS } from './move-rig.ts';

type Content = MoveContent<Payload>;

const step = (target: MoveTarget<Payload>, event: TargetEvent<Payload>, now = 0): TargetEffect<Payload>[] =>
  target.step(event, now);
/** Types of the effects; of answers, the types of these. */
const typesOf = (effects: readonly TargetEffect<Payload>[]): string[] =>
  effects.map((effect) => (effect.type === 'answer' ? effect.answer.type : effect.type));
const offer = (target: MoveTarget<Payload>, name: MoveName = NAME, refusal?: string): string[] =>
  typesOf(step(target, { type: 'offer', name, refusal }));
const frame = (target: MoveTarget<Payload>, number: number, content: Content, name: MoveName = NAME): string[] =>
  typesOf(step(target, { type: 'frame', frame: { name, number, content } }));
const see = (target: MoveTarget<Payload>, head = NEXT_HEAD, isPrimaryAlive = true): string[] =>
  typesOf(step(target, { type: 'seen', head, isPrimaryAlive }));

const piece = (shard: number, position = 0, isLast = true): Content => ({
  type: 'piece',
  shard,
  isLast,
  position,
  payload: [],
});
const update = (position: number): Content => ({ type: 'update', position, payload: position });

function accepted(): MoveTarget<Payload> {
  const target = createTarget();
  expect(offer(target)).toEqual(['accepted']);
  return target;
}

function complete(): MoveTarget<Payload> {
  const target = accepted();
  SHARDS.forEach((shard, number) => {
    expect(frame(target, number, piece(shard))).toEqual(['put', 'taken']);
  });
  return target;
}

function sealed(): MoveTarget<Payload> {
  const target = complete();
  expect(frame(target, SHARDS.length, { type: 'seal', position: 0 })).toEqual(['sealed']);
  return target;
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

describe('the target of a move', () => {
  it('takes nothing from a source that has lost its index: nothing in the store would ever end the copy', () => {
    const target = createTarget();
    expect(see(target, HEAD, false)).toEqual([]);
    expect(offer(target)).toEqual(['refused']);
    // An answer of the store from before.
    expect(see(target, HEAD, true)).toEqual([]);
    expect(offer(target)).toEqual(['refused']);
    const source = { index: 0, token: '31' };
    const epoch = HEAD.epoch + 1;
    expect(see(target, { epoch, primary: source, inSync: [source] }, true)).toEqual([]);
    expect(offer(target, { ...NAME, source, epoch })).toEqual(['accepted']);
  });

  it('leads the unit when the head names it and its copy is sealed', () => {
    const target = sealed();
    expect(see(target, HEAD)).toEqual([]);
    expect(step(target, { type: 'seen', head: NEXT_HEAD, isPrimaryAlive: true })).toEqual([{ type: 'lead', epoch: 6 }]);
    expect(target.state().copy).toBeUndefined();
  });

  it('does not lead it with a copy that is not sealed', () => {
    expect(see(complete())).toEqual(['lost']);
  });

  it('does not lead it when the head names another process, even at its own index', () => {
    for (const primary of [
      { index: 2, token: '29' },
      { ...NAME.target, token: '30' },
    ]) {
      expect(see(sealed(), { epoch: 6, primary, inSync: [primary] })).toEqual(['discard']);
    }
    expect(see(sealed(), { ...NEXT_HEAD, epoch: 7 })).toEqual(['discard']);
  });

  it('reads the head when the source says that it names it, and believes only the head', () => {
    const target = sealed();
    expect(typesOf(step(target, { type: 'moved', name: NAME }))).toEqual(['look']);
    expect(target.state().copy?.isSealed).toBe(true);
    for (const name of OTHERS) expect(step(target, { type: 'moved', name })).toEqual([]);
  });

  it.each(OTHERS)('takes nothing that names another move: %o', (name) => {
    const target = accepted();
    expect(frame(target, 0, piece(SHARDS[0]!), name)).toEqual(['refused']);
    expect(target.state().copy?.next).toBe(0);
    expect(typesOf(step(target, { type: 'abandon', name }))).toEqual(['discarded']);
    expect(target.state().copy?.name).toEqual(NAME);
  });

  it('takes no offer that the head contradicts, an old one, or one for another process', () => {
    expect(offer(createTarget(), NAME, 'full')).toEqual(['refused']);
    for (const name of OTHERS) {
      const isNew = name.attempt === 2 || name.purpose === 'copy';
      expect(offer(createTarget(), name)).toEqual(isNew ? ['accepted'] : ['refused']);
    }
    const young = new Target<Payload>({ unit: 3, me: NAME.target, shards: SHARDS, silenceMs: 1_000 });
    expect(offer(young)).toEqual(['refused']);
    const later = createTarget();
    see(later, { epoch: 7, primary: NAME.source, inSync: [NAME.source] });
    see(later, HEAD);
    expect(offer(later)).toEqual(['refused']);
    expect(offer(later, { ...NAME, epoch: 7 })).toEqual(['accepted']);
  });

  it('takes an offer again while it has its copy, and not after', () => {
    const target = accepted();
    frame(target, 0, piece(SHARDS[0]!));
    expect(offer(target)).toEqual(['accepted']);
    expect(target.state().copy?.next).toBe(1);
    expect(typesOf(step(target, { type: 'failed', reason: 'out of memory' }))).toEqual(['discard', 'refused']);
    expect(offer(target)).toEqual(['refused']);
    expect(offer(target, { ...NAME, attempt: 2 })).toEqual(['accepted']);
  });

  it('does not begin an attempt that was abandoned before its offer came', () => {
    const target = createTarget();
    expect(typesOf(step(target, { type: 'abandon', name: NAME }))).toEqual(['discarded']);
    expect(offer(target)).toEqual(['refused']);
  });

  it('begins again when the source does, sealed or not', () => {
    for (const target of [accepted(), sealed()]) {
      expect(offer(target, { ...NAME, attempt: 2 })).toEqual(['discard', 'accepted']);
      expect(target.state().copy).toMatchObject({ next: 0, complete: 0, isSealed: false });
    }
  });

  it('takes each frame once, in order', () => {
    const target = accepted();
    expect(frame(target, 1, update(1))).toEqual([]);
    expect(frame(target, 0, piece(SHARDS[0]!))).toEqual(['put', 'taken']);
    expect(frame(target, 0, piece(SHARDS[0]!))).toEqual(['taken']);
    expect(frame(target, 1, update(1))).toEqual(['apply', 'taken']);
    expect(frame(target, 1, update(1))).toEqual(['taken']);
    expect(target.state().copy).toMatchObject({ next: 2, position: 1 });
  });

  it('applies updates to the shards that are complete', () => {
    const target = accepted();
    const shards = (number: number, content: Content): unknown => {
      const [first] = step(target, { type: 'frame', frame: { name: NAME, number, content } });
      return first?.type === 'apply' ? first.shards : first?.type === 'put' && first.isFirst;
    };
    expect(shards(0, piece(3, 7, false))).toBe(true);
    expect(shards(1, piece(3, 7))).toBe(false);
    expect(shards(2, update(8))).toEqual([3]);
    expect(shards(3, piece(11, 8))).toBe(true);
    expect(shards(4, update(9))).toEqual([3, 11]);
  });

  const wrong: readonly (readonly [string, readonly Content[]])[] = [
    ['a shard out of its order', [piece(11)]],
    ['a shard of another unit', [piece(4)]],
    ['a shard twice', [piece(3), piece(3)]],
    ['a shard at another position', [piece(3, 5), piece(11, 6)]],
    ['an update before any shard', [update(1)]],
    ['an update amid a shard', [piece(3, 0, false), update(1)]],
    ['an update that skips one', [piece(3), update(2)]],
    ['an update again', [piece(3), update(1), update(1)]],
    ['a seal before all shards', [piece(3), { type: 'seal', position: 0 }]],
    ['a seal at another position', [...SHARDS.map((shard) => piece(shard)), { type: 'seal', position: 1 }]],
  ];

  it.each(wrong)('gives up its copy at %s', (_, contents) => {
    const target = accepted();
    const answers = contents.map((content, number) => frame(target, number, content));
    expect(answers.at(-1)).toEqual(['discard', 'refused']);
  });

  it('takes no update after the seal', () => {
    const target = sealed();
    expect(frame(target, 4, update(1))).toEqual(['sealed']);
    expect(target.state().copy).toMatchObject({ next: 4, isSealed: true, position: 0 });
  });

  it('keeps a sealed copy until the source abandons it, or the source disconnected and its change with it', () => {
    const kept = sealed();
    expect(kept.nextDeadline()).toBeUndefined();
    expect(typesOf(step(kept, { type: 'tick' }, 1_000_000))).toEqual([]);
    expect(typesOf(step(kept, { type: 'abandon', name: NAME }))).toEqual(['discard', 'discarded']);
    expect(see(sealed(), HEAD, false)).toEqual(['discard']);
    // The change took effect, and its source is gone after that.
    expect(see(sealed(), NEXT_HEAD, true)).toEqual(['lead']);
  });

  it('discards a copy that is not sealed when the source is silent', () => {
    const target = createTarget();
    step(target, { type: 'offer', name: NAME, refusal: undefined }, 500);
    expect(target.nextDeadline()).toBe(1_500);
    expect(step(target, { type: 'tick' }, 1_499)).toEqual([]);
    step(target, { type: 'resumed' }, 1_499);
    expect(step(target, { type: 'tick' }, 1_500)).toEqual([]);
    expect(typesOf(step(target, { type: 'tick' }, 2_499))).toEqual(['discard']);
  });
});
