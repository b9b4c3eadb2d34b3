/** Moves that make a backup copy. `join-model.test.ts` has all that can happen to them. */
import { describe, expect, it } from 'vitest';
import type { MoveAnswer, MoveContent, MoveName } from '../../../src/core/units/move-messages.ts';
import { MoveSource, type SourceEffect } from '../../../src/core/units/move-source.ts';
import type { MoveTarget, TargetEffect, TargetEvent } from '../../../src/core/units/move-target.ts';
import { createTarget, HEAD, NAME as LEAD, NEXT_HEAD, type Payload, SHARDS } from './move-rig.ts';

const NAME: MoveName = { ...LEAD, purpose: 'copy' };
const POSITION = 40;

const typesOf = (effects: readonly (SourceEffect<Payload> | TargetEffect<Payload>)[]): string[] =>
  effects.map((effect) => (effect.type === 'answer' ? effect.answer.type : effect.type));

describe('the source of a copy', () => {
  const times = { windowBytes: 1_000, silenceMs: 1_000, handOverMs: 300 };
  const answer = (source: MoveSource<Payload>, one: MoveAnswer): string[] =>
    typesOf(source.step({ type: 'answer', answer: one }, 0));
  const update = (source: MoveSource<Payload>): string[] =>
    typesOf(source.step({ type: 'applied', payload: 1, byteLength: 10, ticket: 1 }, 0));
  const abandoned = { type: 'abandoned', reason: 'the copy was not taken into the head' };
  const told = { type: 'send', message: { type: 'abandon', name: NAME } };

  function caughtUp(): MoveSource<Payload> {
    const source = new MoveSource<Payload>({ ...times, name: NAME, shards: SHARDS, position: POSITION }, 0);
    source.step({ type: 'connected' }, 0);
    answer(source, { type: 'accepted', name: NAME });
    for (const shard of SHARDS) {
      source.step({ type: 'captured', shard, pieces: [{ payload: [], byteLength: 10 }] }, 0);
    }
    expect(answer(source, { type: 'taken', name: NAME, next: SHARDS.length })).toEqual(['caughtUp']);
    return source;
  }

  function sealing(): MoveSource<Payload> {
    const source = caughtUp();
    source.step({ type: 'seal', position: POSITION }, 0);
    return source;
  }

  function copied(): MoveSource<Payload> {
    const source = sealing();
    expect(answer(source, { type: 'sealed', name: NAME, position: POSITION })).toEqual(['copied']);
    return source;
  }

  it('counts positions from what was committed, and ends with what is', () => {
    const source = caughtUp();
    expect(update(source)).toEqual(['send', 'acknowledge']);
    expect(() => source.step({ type: 'seal', position: POSITION }, 0)).toThrow('everything that is committed');
    const [sent] = source.step({ type: 'seal', position: POSITION + 1 }, 0);
    expect(sent).toMatchObject({ message: { frame: { content: { type: 'seal', position: POSITION + 1 } } } });
    expect(answer(source, { type: 'sealed', name: NAME, position: POSITION })).toEqual([]);
    expect(answer(source, { type: 'sealed', name: NAME, position: POSITION + 1 })).toEqual(['copied']);
  });

  it('lets no request wait, and forwards nothing after the seal', () => {
    const source = sealing();
    expect([source.admits('read'), source.admits('update')]).toEqual([true, true]);
    expect(update(source)).toEqual(['acknowledge']);
    expect(answer(source, { type: 'sealed', name: NAME, position: POSITION })).toEqual(['copied']);
    expect(update(source)).toEqual(['acknowledge']);
  });

  it('is sealed while updates wait for room: they come before', () => {
    const source = new MoveSource<Payload>({ ...times, windowBytes: 10, name: NAME, shards: [3] }, 0);
    source.step({ type: 'connected' }, 0);
    answer(source, { type: 'accepted', name: NAME });
    source.step({ type: 'captured', shard: 3, pieces: [{ payload: [], byteLength: 10 }] }, 0);
    answer(source, { type: 'taken', name: NAME, next: 1 });
    for (let at = 0; at < 3; at++) update(source);
    expect(source.step({ type: 'seal', position: 3 }, 0)).toEqual([]);
    expect(source.phase).toBe('sealing');
    expect(answer(source, { type: 'taken', name: NAME, next: 2 })).toEqual(['send', 'acknowledge']);
    expect(answer(source, { type: 'taken', name: NAME, next: 3 })).toEqual(['send', 'send']);
  });

  it('is not sealed when it was abandoned just before', () => {
    const source = caughtUp();
    source.step({ type: 'abandon', reason: 'stop' }, 0);
    expect(source.step({ type: 'seal', position: POSITION }, 0)).toEqual([]);
    expect(source.phase).toBe('abandoning');
  });

  it('does not end a sealed copy by itself: it may be in the head', () => {
    const silent = sealing();
    expect(silent.nextDeadline()).toBe(1_000);
    expect(typesOf(silent.step({ type: 'tick' }, 1_000))).toEqual(['unconfirmed']);
    expect(silent.nextDeadline()).toBeUndefined();
    const gone = sealing();
    expect(typesOf(gone.step({ type: 'targetGone' }, 0))).toEqual(['unconfirmed']);
    const unwanted = sealing();
    expect(typesOf(unwanted.step({ type: 'abandon', reason: 'stop' }, 0))).toEqual(['unconfirmed']);
    const refused = sealing();
    expect(answer(refused, { type: 'refused', name: NAME, reason: 'no copy' })).toEqual(['unconfirmed']);
    for (const source of [silent, gone, unwanted, refused]) {
      expect(source.step({ type: 'abandon', reason: 'stop' }, 0)).toEqual([]);
      expect(answer(source, { type: 'sealed', name: NAME, position: POSITION })).toEqual([]);
      expect(source.phase).toBe('sealing');
    }
    expect(silent.step({ type: 'joinFailed' }, 1_000)).toEqual([abandoned, told]);
    expect(gone.step({ type: 'joinFailed' }, 0)).toEqual([abandoned]);
    expect(gone.isEnded).toBe(true);
  });

  it('is abandoned after the target has it, when it was not taken into the head', () => {
    const source = copied();
    expect(source.nextDeadline()).toBeUndefined();
    expect(source.step({ type: 'abandon', reason: 'stop' }, 0)).toEqual([]);
    expect(answer(source, { type: 'refused', name: NAME, reason: 'an old offer' })).toEqual([]);
    expect(source.step({ type: 'joinFailed' }, 0)).toEqual([abandoned, told]);
    expect(typesOf(source.step({ type: 'connected' }, 0))).toEqual(['send']);
    answer(source, { type: 'discarded', name: NAME });
    expect(source.phase).toBe('kept');
  });

  it('ends when the copy is in the head, or another process leads', () => {
    for (const source of [sealing(), copied()]) {
      expect(source.step({ type: 'release' }, 0)).toEqual([]);
      expect([source.phase, source.isEnded]).toEqual(['released', true]);
      expect(source.step({ type: 'joinFailed' }, 0)).toEqual([]);
    }
    expect(typesOf(caughtUp().step({ type: 'release' }, 0))).toEqual(['abandoned', 'send']);
  });

  it('ends no join before there is one', () => {
    const source = caughtUp();
    expect(source.step({ type: 'joinFailed' }, 0)).toEqual([]);
    expect(source.phase).toBe('copying');
  });
});

describe('the target of a copy', () => {
  type Content = MoveContent<Payload>;
  const step = (target: MoveTarget<Payload>, event: TargetEvent<Payload>): string[] => typesOf(target.step(event, 0));
  const offer = (target: MoveTarget<Payload>, attempt = 1): string[] =>
    step(target, { type: 'offer', name: { ...NAME, attempt }, refusal: undefined });
  const frame = (target: MoveTarget<Payload>, number: number, content: Content): string[] =>
    step(target, { type: 'frame', frame: { name: NAME, number, content } });
  const abandon = (target: MoveTarget<Payload>, name = NAME): string[] => step(target, { type: 'abandon', name });
  const see = (target: MoveTarget<Payload>, head = HEAD, isPrimaryAlive = true): string[] =>
    step(target, { type: 'seen', head, isPrimaryAlive });
  const seal: Content = { type: 'seal', position: POSITION };

  function complete(): MoveTarget<Payload> {
    const target = createTarget();
    expect(offer(target)).toEqual(['accepted']);
    SHARDS.forEach((shard, number) => {
      frame(target, number, { type: 'piece', shard, isLast: true, position: POSITION, payload: [] });
    });
    return target;
  }

  function copied(): MoveTarget<Payload> {
    const target = complete();
    expect(frame(target, SHARDS.length, seal)).toEqual(['copied', 'sealed']);
    return target;
  }

  it('leaves a sealed copy to the replicas, and says again that it was sealed', () => {
    const target = complete();
    const event: TargetEvent<Payload> = { type: 'frame', frame: { name: NAME, number: SHARDS.length, content: seal } };
    expect(target.step(event, 0)).toEqual([
      { type: 'copied', name: NAME, position: POSITION },
      { type: 'answer', answer: { type: 'sealed', name: NAME, position: POSITION } },
    ]);
    expect(target.state().copy).toBeUndefined();
    expect(target.step(event, 0)).toEqual([
      { type: 'answer', answer: { type: 'sealed', name: NAME, position: POSITION } },
    ]);
    expect(offer(target)).toEqual(['accepted']);
    expect(target.state().copy).toBeUndefined();
  });

  it('does nothing about a copy that it has left, whatever the store shows', () => {
    const target = copied();
    expect(see(target, HEAD, false)).toEqual([]);
    expect(see(target, NEXT_HEAD)).toEqual([]);
    expect(target.nextDeadline()).toBeUndefined();
  });

  it('takes no frame of another purpose into its copy', () => {
    const target = complete();
    expect(step(target, { type: 'frame', frame: { name: LEAD, number: SHARDS.length, content: seal } })).toEqual([
      'refused',
    ]);
    expect(abandon(target, LEAD)).toEqual(['discarded']);
    expect(target.state().copy?.name).toEqual(NAME);
    expect(abandon(copied(), LEAD)).toEqual(['discarded']);
  });

  it('says that a copy is abandoned that it has left, once', () => {
    const target = copied();
    expect(target.step({ type: 'abandon', name: NAME }, 0)[0]).toEqual({ type: 'abandoned', name: NAME });
    expect(abandon(target)).toEqual(['discarded']);
    expect(frame(target, SHARDS.length, seal)).toEqual(['refused']);
  });

  it('replaces a copy that it has left by the next one', () => {
    const target = copied();
    expect(offer(target, 2)).toEqual(['abandoned', 'accepted']);
    expect(target.state().copied).toBeUndefined();
  });

  it('takes no copy while it is in the head', () => {
    const target = createTarget();
    see(target, { ...HEAD, inSync: [LEAD.source, LEAD.target] });
    expect(offer(target)).toEqual(['refused']);
    see(target, { ...HEAD, inSync: [LEAD.source, { ...LEAD.target, token: '28' }] });
    expect(offer(target)).toEqual(['accepted']);
  });

  it('goes on when its source changes the head, and ends when another one leads or its source is gone', () => {
    const next = { ...HEAD, epoch: HEAD.epoch + 1 };
    const target = complete();
    expect(see(target, next)).toEqual([]);
    expect(frame(target, SHARDS.length, seal)).toEqual(['copied', 'sealed']);
    expect(see(complete(), next, false)).toEqual(['discard']);
    expect(see(complete(), HEAD, false)).toEqual(['discard']);
    const other = { index: 5, token: '50' };
    expect(see(complete(), { ...next, primary: other, inSync: [other] })).toEqual(['discard']);
    expect(see(complete(), NEXT_HEAD)).toEqual(['discard']);
  });

  it('refuses a copy that could not be left to the replicas', () => {
    const target = copied();
    expect(step(target, { type: 'failed', reason: 'another timeline' })).toEqual(['discard', 'refused']);
    expect(frame(target, SHARDS.length, seal)).toEqual(['refused']);
    expect(abandon(target)).toEqual(['discarded']);
  });
});
