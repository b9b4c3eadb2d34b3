import { expect, test } from 'vitest';
import { barrierText } from '../../../../src/roles/trainer/rounds/log-barrier-wait.ts';

const ownersOf = (lane: number): string[] => (lane === 9 ? [] : [`t${lane % 2}`]);

test('says which lanes a round waits for, where, and whose they are', () => {
  const missing = new Map([
    [1, [3, 5]],
    [0, [5]],
    [2, []],
  ]);
  expect(barrierText(17, missing, ownersOf)).toBe(
    'round 17: lanes 5 at pserver 0; lanes 3, 5 at pserver 1, of trainer t1',
  );
  expect(barrierText(17, new Map([[0, [9]]]), ownersOf)).toBe('round 17: lanes 9 at pserver 0, without a trainer');
  expect(barrierText(17, new Map(), ownersOf)).toBe('round 17: the pservers');
});

test('does not fill the log', () => {
  const lanes = Array.from({ length: 4096 }, (_, lane) => lane);
  expect(barrierText(2, new Map([[0, lanes]]), ownersOf)).toBe(
    'round 2: lanes 0, 1, 2, 3, 4, 5, 6, 7 and 4088 more at pserver 0, of trainer t0, t1',
  );
});
