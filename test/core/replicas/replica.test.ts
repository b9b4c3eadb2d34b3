/** The copies of a unit, step by step: what the model (model.test.ts) is too small to show, or does not look at. */
import { describe, expect, it } from 'vitest';
import type { UnitHead } from '../../../src/core/replicas/events.ts';
import { A, B, C, Copy, D, exchange, inSync, SILENCE_MS } from './copies.ts';

describe('an update', () => {
  it('is applied everywhere when all of the set have staged it, and nowhere before', () => {
    const [a, b, c] = inSync([A, B, C]) as [Copy, Copy, Copy];
    a.place('x', 'y');
    exchange(a, b, B.index);
    expect([a.applied, b.applied]).toEqual([[], []]);
    exchange(a, c, C.index);
    exchange(a, b, B.index);
    expect([a.applied, b.applied, c.applied]).toEqual([
      ['x', 'y'],
      ['x', 'y'],
      ['x', 'y'],
    ]);
  });

  it('is committed at once by a copy that is alone', () => {
    const [a] = inSync([A]) as [Copy];
    a.place('x');
    expect(a.applied).toEqual(['x']);
  });

  it('is not placed while fewer copies are in sync than there should be', () => {
    const [a] = inSync([A], { minInSync: 2 }) as [Copy];
    expect([a.replica.admits('read'), a.replica.admits('update')]).toEqual([true, false]);
  });
});

describe('a member that is silent', () => {
  it('is taken out; with fewer left than an update needs, what is not committed is dropped', () => {
    const [a, b] = inSync([A, B], { minInSync: 2 }) as [Copy, Copy];
    a.place('1');
    exchange(a, b, 1);
    a.place('2');
    a.step({ type: 'gone', owner: B });
    a.succeed();
    expect(a.applied).toEqual(['1']);
    expect(a.take('drop')).toEqual([{ type: 'drop', names: [{ position: 2, epoch: 2 }] }]);
    expect(['read', 'update'].map((kind) => a.replica.admits(kind as 'read'))).toEqual([true, false]);
  });

  it('is taken out; what the others have staged is committed, the rest is dropped', () => {
    const [a, b, c] = inSync([A, B, C]) as [Copy, Copy, Copy];
    a.place('x');
    exchange(a, b, B.index);
    a.place('y');
    a.nowMs += SILENCE_MS;
    a.step({ type: 'resumed' });
    a.step({ type: 'tick' });
    expect(a.proposal).toBeUndefined();
    a.nowMs += SILENCE_MS;
    exchange(a, b, B.index);
    a.place('z');
    a.step({ type: 'tick' });
    expect(a.proposal).toMatchObject({ kind: 'remove', head: { epoch: 4, primary: A, inSync: [A, B] } });
    expect(a.applied).toEqual([]);
    const { head } = a.succeed();
    expect(a.applied).toEqual(['x', 'y']);
    expect(a.take('drop')).toEqual([{ type: 'drop', names: [{ position: 3, epoch: 3 }] }]);

    // It had staged that in the meantime.
    const late = a.frames.filter(({ frame }) => frame.type === 'stage' && frame.update.payload === 'z');
    expect(late.map(({ link }) => link.member)).toEqual([B, C]);
    b.step({ type: 'frame', ...late[0]! });
    b.step({ type: 'seen', head, isPrimaryAlive: true });
    a.place('w');
    exchange(a, b, B.index);
    expect([a.applied, b.applied]).toEqual([
      ['x', 'y', 'w'],
      ['x', 'y', 'w'],
    ]);
    c.step({ type: 'seen', head, isPrimaryAlive: true });
    expect(c.take('discard')).toHaveLength(1);
  });

  it('does not take with it what a former primary had placed', () => {
    const [a, b, c, d] = inSync([A, B, C, D]) as [Copy, Copy, Copy, Copy];
    const members = [
      [b, B],
      [c, C],
      [d, D],
    ] as const;
    a.place('x');
    for (const [copy, { index }] of members) exchange(a, copy, index);
    expect(a.applied).toEqual(['x']);
    // Its trainer is told, and it dies.
    const last = a.take('propose').at(-1)?.proposal.head ?? { epoch: 4, primary: A, inSync: [A, B, C, D] };
    b.step({ type: 'seen', head: last, isPrimaryAlive: false });
    expect(b.proposal).toMatchObject({ kind: 'promote', head: { primary: B, inSync: [B, C, D] }, gone: [A] });
    b.succeed();
    expect(b.replica.admits('read')).toBe(false);
    b.step({ type: 'gone', owner: D });
    expect(b.proposal).toMatchObject({ kind: 'remove', head: { inSync: [B, C] } });
    const { head } = b.succeed();
    expect(b.take('drop')).toEqual([]);
    c.step({ type: 'seen', head, isPrimaryAlive: true });
    exchange(b, c, C.index);
    expect([b.applied, c.applied]).toEqual([['x'], ['x']]);
    expect(b.replica.admits('read')).toBe(true);
  });
});

describe('frames', () => {
  it('of an epoch that has not begun here are not staged', () => {
    const [a, b] = inSync([A, B]) as [Copy, Copy];
    a.place('x');
    const [{ link, frame }] = a.frames.splice(0) as [(typeof a.frames)[number]];
    const head = { epoch: 3, primary: A, inSync: [A, B] };
    b.step({ type: 'seen', head, isPrimaryAlive: true });
    b.step({ type: 'frame', link: { ...link, epoch: 3 }, frame });
    expect([b.replica.state().log.updates, b.answers]).toEqual([[], []]);
  });

  it('for another process at the index are ignored', () => {
    const [a, b] = inSync([A, B]) as [Copy, Copy];
    a.place('x');
    const [{ link, frame }] = a.frames.splice(0) as [(typeof a.frames)[number]];
    b.step({ type: 'frame', link: { ...link, member: { ...B, token: '99' } }, frame });
    expect([b.replica.state().log.updates, b.answers]).toEqual([[], []]);
  });

  it('of an epoch that the store has not shown here wait until it does', () => {
    const [a, b, c] = inSync([A, B, C]) as [Copy, Copy, Copy];
    a.step({ type: 'gone', owner: C });
    const { head } = a.succeed();
    exchange(a, b, B.index);
    expect(b.take('look')).toHaveLength(1);
    b.step({ type: 'seen', head, isPrimaryAlive: true });
    for (const answer of b.answers.splice(0)) a.step({ type: 'answer', ...answer });
    a.place('x');
    exchange(a, b, B.index);
    expect([a.applied, b.applied, c.applied]).toEqual([['x'], ['x'], []]);
  });
});

describe('a hand-over', () => {
  it('waits until nothing is under way, and places nothing until then', () => {
    const [a, b, c] = inSync([A, B, C]) as [Copy, Copy, Copy];
    a.place('x');
    exchange(a, b, B.index);
    a.step({ type: 'handOver', to: B });
    expect([a.replica.admits('read'), a.replica.admits('update')]).toEqual([true, false]);
    expect(a.proposal).toBeUndefined();
    exchange(a, c, C.index);
    expect(a.proposal).toMatchObject({ kind: 'handOver', head: { primary: B, inSync: [A, B, C] }, alive: [B] });
    expect(a.replica.admits('read')).toBe(false);
    exchange(a, b, B.index);
    const { head } = a.succeed();
    expect(a.take('stepDown')).toHaveLength(1);
    for (const copy of [b, c]) copy.step({ type: 'seen', head, isPrimaryAlive: true });
    exchange(b, a, A.index);
    exchange(b, c, C.index);
    expect(b.replica.admits('update')).toBe(true);
    b.place('y');
    exchange(b, a, A.index);
    exchange(b, c, C.index);
    exchange(b, a, A.index);
    expect([a.applied, b.applied, c.applied]).toEqual([
      ['x', 'y'],
      ['x', 'y'],
      ['x', 'y'],
    ]);
  });

  it('ends when the other process has lost its index', () => {
    const [a] = inSync([A, B]) as [Copy];
    a.step({ type: 'handOver', to: B });
    const { from } = a.proposal!;
    a.step({ type: 'gone', owner: B });
    a.step({ type: 'decided', from, outcome: 'failed', head: { epoch: from, primary: A, inSync: [A, B] } });
    expect(a.replica.admits('read')).toBe(true);
    expect(a.proposal).toMatchObject({ kind: 'remove', head: { inSync: [A] } });
    a.succeed();
    a.place('x');
    expect(a.applied).toEqual(['x']);
  });
});

describe('a copy that joins', () => {
  it('gets what was committed since it was made', () => {
    const [a] = inSync([A]) as [Copy];
    a.place('x');
    const b = new Copy(B, { epoch: 1, primary: A, inSync: [A] });
    expect(b.replica.state().log.committed).toBe(0);
    const [early] = inSync([A]) as [Copy];
    early.step({ type: 'join', joiner: B });
    early.place('y', 'z');
    expect(early.applied).toEqual(['y', 'z']);
    exchange(early, b, B.index);
    expect(b.applied).toEqual(['y', 'z']);
    expect(early.proposal).toMatchObject({ kind: 'add', head: { inSync: [A, B] }, alive: [B] });
  });

  it('is left alone when it is given up, when its process is gone, or when it does not fit', () => {
    const [a] = inSync([A]) as [Copy];
    a.step({ type: 'join', joiner: B });
    a.step({ type: 'giveUp', joiner: B });
    a.step({ type: 'join', joiner: C });
    a.step({ type: 'gone', owner: C });
    a.place('x');
    const d = new Copy(D, { epoch: 1, primary: A, inSync: [A] });
    a.step({ type: 'join', joiner: D });
    a.frames.splice(0, 2);
    exchange(a, d, D.index);
    expect(a.take('joinFailed').map(({ joiner }) => joiner)).toEqual([B, C, D]);
    expect(a.proposal).toBeUndefined();
  });

  const made: UnitHead = { epoch: 5, primary: A, inSync: [A, C] };
  it.each<[string, UnitHead, boolean]>([
    ['has lost its index', made, false],
    ['leads no more', { epoch: 6, primary: C, inSync: [C] }, true],
  ])('is freed when the primary that made it %s: no head can name it', (_, head, isPrimaryAlive) => {
    const b = new Copy(B, made);
    b.step({ type: 'seen', head, isPrimaryAlive });
    expect(b.take('discard')).toHaveLength(1);
  });

  it.each<[string, UnitHead, boolean]>([
    ['the store shows what was before', { epoch: 4, primary: C, inSync: [C, A] }, false],
    ['its primary has changed the set', { epoch: 6, primary: A, inSync: [A] }, true],
  ])('stays while %s', (_, head, isPrimaryAlive) => {
    const b = new Copy(B, made, {}, head);
    b.step({ type: 'seen', head, isPrimaryAlive });
    expect([b.replica.role, b.take('discard')]).toEqual(['joining', []]);
  });
});

describe('what a member has applied', () => {
  it('is said in answer to each commit position, and one that does not say it is silent', () => {
    const [a, b] = inSync([A, B]) as [Copy, Copy];
    a.place('x');
    b.step({ type: 'frame', ...a.frames.shift()! });
    expect(b.answers[0]!.answer).toEqual({ type: 'staged', through: 1, committed: 0 });
    a.step({ type: 'answer', ...b.answers.shift()! });
    expect(a.applied).toEqual(['x']);
    const [commit] = a.frames.splice(0);
    expect(commit!.frame).toEqual({ type: 'commit', committed: 1 });
    a.nowMs += SILENCE_MS / 2;
    a.step({ type: 'heard', from: C });
    expect(a.replica.nextDeadline()).toBe(SILENCE_MS);
    a.step({ type: 'heard', from: B });
    expect(a.replica.nextDeadline()).toBe(a.nowMs + SILENCE_MS);
    b.step({ type: 'frame', ...commit! });
    expect(b.answers[0]!.answer).toEqual({ type: 'staged', through: 1, committed: 1 });
    a.step({ type: 'answer', ...b.answers.shift()! });
    expect(a.replica.nextDeadline()).toBeUndefined();
  });

  it('is owed even when all updates are staged', () => {
    const [a, b, c] = inSync([A, B, C]) as [Copy, Copy, Copy];
    a.place('x', 'y');
    const to = (owner: typeof B) => a.frames.find(({ link }) => link.member === owner)!;
    const next = (owner: typeof B) => a.frames.splice(a.frames.indexOf(to(owner)), 1)[0]!;
    c.step({ type: 'frame', ...next(C) });
    b.step({ type: 'frame', ...next(B) });
    b.step({ type: 'frame', ...next(B) });
    for (const answer of c.answers.splice(0)) a.step({ type: 'answer', ...answer });
    for (const answer of b.answers.splice(0)) a.step({ type: 'answer', ...answer });
    expect(a.applied).toEqual(['x']);
    a.nowMs += SILENCE_MS / 2;
    a.step({ type: 'heard', from: C });
    // It is B that owes: it has staged everything, and has not said that it has applied x.
    expect(a.replica.nextDeadline()).toBe(SILENCE_MS);
  });

  it('is waited for as long as for an update, and then the member is taken out', () => {
    const [a, b] = inSync([A, B]) as [Copy, Copy];
    a.place('x');
    b.step({ type: 'frame', ...a.frames.shift()! });
    a.step({ type: 'answer', ...b.answers.shift()! });
    a.nowMs += SILENCE_MS;
    a.step({ type: 'tick' });
    expect(a.proposal).toMatchObject({ kind: 'remove', head: { inSync: [A] } });
  });
});

describe('a beginning', () => {
  it('that comes before the answer about the hand-over is taken after it', () => {
    const [a, b] = inSync([A, B]) as [Copy, Copy];
    a.step({ type: 'handOver', to: B });
    const { head, from } = a.proposal!;
    b.step({ type: 'seen', head, isPrimaryAlive: true });
    const [begin] = b.frames.splice(0);
    a.step({ type: 'frame', ...begin! });
    expect(a.answers).toEqual([]);
    a.step({ type: 'decided', from, outcome: 'succeeded' });
    expect(a.answers).toEqual([{ link: begin!.link, answer: { type: 'staged', through: 0, committed: 0 } }]);
  });

  it('is refused when a newer one has come', () => {
    const [, b] = inSync([A, B]) as [Copy, Copy];
    const begin = (epoch: number) => ({
      link: { unit: 0, epoch, primary: A, member: B },
      frame: { type: 'begin', base: 0, tail: [], committed: 0 } as const,
    });
    const old = { type: 'refused', why: 'old' };
    b.step({ type: 'frame', ...begin(5) });
    b.step({ type: 'frame', ...begin(7) });
    expect(b.answers.splice(0)).toEqual([{ link: begin(5).link, answer: old }]);
    b.step({ type: 'frame', ...begin(6) });
    expect(b.answers.splice(0)).toEqual([{ link: begin(6).link, answer: old }]);
    b.step({ type: 'seen', head: { epoch: 8, primary: A, inSync: [A, B] }, isPrimaryAlive: true });
    expect(b.answers.splice(0)).toEqual([{ link: begin(7).link, answer: old }]);
  });
});
