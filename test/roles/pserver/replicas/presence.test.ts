/** Who is gone, by what the view has shown. */
import { expect, it } from 'vitest';
import { Presence } from '../../../../src/roles/pserver/replicas/presence.ts';

const owner = (index: number, token: number) => ({ index, token: `${token}` });

it('knows who is gone of all that came before the newest process, and of none that comes later', () => {
  let live = [
    { index: 0, token: 5n, address: 'a:1' },
    { index: 1, token: 9n, address: 'a:2' },
  ];
  const presence = new Presence({ live: () => live });
  expect(presence.isGone(owner(0, 5))).toBe(false);
  expect(presence.look()).toEqual([]);
  expect([owner(0, 5), owner(1, 9), owner(2, 12)].filter((one) => presence.isGone(one))).toEqual([]);
  // It was gone before this process looked for the first time.
  expect(presence.isGone(owner(0, 4))).toBe(true);
  live = live.slice(0, 1);
  expect(presence.look()).toEqual([owner(1, 9)]);
  expect(presence.isGone(owner(1, 9))).toBe(true);
  expect(presence.isGone(owner(1, 10))).toBe(false);
  expect(presence.addressOf(owner(0, 5))).toBe('a:1');
});
