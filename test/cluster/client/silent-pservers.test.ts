/** A pserver that lives and does not answer is told; a dead one, or one that answers, is not. */
import { beforeEach, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { SilentPservers } from '../../../src/cluster/client/silent-pservers.ts';
import { createTroubles, type Troubles } from '../../../src/cluster/troubles.ts';
import { FakeClock } from '../../store/support.ts';

const LONG_MS = 5_000;
const LOST = new PaddletError('ConnectionLost', 'lost');
const LATE = new PaddletError('RequestTimeout', 'late');
const [A, B] = [0, 1].map((index) => ({ index, token: 7n })) as [Owner, Owner];
type Owner = { readonly index: number; readonly token: bigint };

let clock: FakeClock;
let troubles: Troubles;
let live: Owner[];
let silent: SilentPservers;

beforeEach(() => {
  clock = new FakeClock();
  troubles = createTroubles();
  live = [A, B];
  silent = new SilentPservers({
    ...{ clock, troubles, longMs: LONG_MS },
    isLive: (index, token) => live.some((one) => one.index === index && one.token === token),
  });
});

const told = (): string[] => troubles.list().map(({ text }) => text);
const fails = (pserver: Owner, error: unknown = LOST): void => silent.failed(pserver, error, clock.monotonicMs());

it('a pserver that has its index and does not answer for long is told, until it answers', () => {
  fails(B);
  clock.jump(LONG_MS - 1);
  fails(B);
  expect(told()).toEqual([]);
  clock.jump(1);
  fails(B, LATE);
  expect(told()).toEqual(['an answer of pserver 1, which has its index: the network to it is cut, or it is suspended']);
  silent.answered(A);
  expect(told()).toHaveLength(1);
  silent.answered(B);
  expect(told()).toEqual([]);
});

it('a request that was asked long ago is enough, and an error that it answers is an answer', () => {
  const askedMs = clock.monotonicMs();
  clock.jump(LONG_MS);
  silent.failed(A, LATE, askedMs);
  silent.failed(B, LATE, askedMs);
  expect(told()[0]).toContain('pserver 0, 1');
  fails(A, new PaddletError('StalePlacement', 'another'));
  expect(told()[0]).toContain('of pserver 1,');
  fails(B, new PaddletError('Interrupted', 'closed here'));
  expect(told()).toHaveLength(1);
});

it('a dead one is not told: its units find another primary', () => {
  fails(B);
  clock.jump(LONG_MS);
  live = [A];
  fails(B);
  expect(told()).toEqual([]);
  const next = { index: 1, token: 9n };
  live = [A, next];
  fails(next);
  expect(told()).toEqual([]);
});
