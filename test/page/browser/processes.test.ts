import { describe, expect, test } from 'vitest';
import { activityText, markOf, mostTroubled } from '../../../src/page/browser/marks.ts';
import { cellsText, unitCells } from '../../../src/page/browser/unit-cells.ts';
import { waitGroups, waitText } from '../../../src/page/browser/waits.ts';
import { samplePserver, sampleTrainer } from '../sample-processes.ts';

describe('units of a pserver', () => {
  const units = {
    ...{ total: 4, toMove: 0, orphans: 2, replicas: 2 },
    list: [
      { unit: 0, primary: 1, inSync: [0, 1], behind: 0 },
      { unit: 1, primary: 0, inSync: [0, 1], behind: 7 },
      { unit: 2, inSync: [1], behind: 0 },
      { unit: 3, inSync: [], behind: 0 },
    ],
  };
  const { of, lost } = unitCells(units);

  test('those that it leads come first, then what has no primary, then copies', () => {
    expect(of.get(1)?.map(({ unit, kind }) => [unit, kind])).toEqual([
      [0, 'led'],
      [2, 'orphan'],
      [1, 'copy'],
    ]);
    expect(of.get(0)?.map(({ unit, kind }) => [unit, kind])).toEqual([
      [1, 'led'],
      [0, 'copy'],
    ]);
    expect(lost).toEqual([3]);
  });

  test('a primary that is not told to be in sync leads all the same', () => {
    const { of: found } = unitCells({ ...units, list: [{ unit: 0, primary: 2, inSync: [], behind: 0 }] });
    expect(found.get(2)?.map(({ kind }) => kind)).toEqual(['led']);
  });

  test('in words', () => {
    expect(cellsText(of.get(1)!)).toBe('1 led, 1 copy, 1 without primary');
    expect(of.get(0)![0]!.title).toBe(
      'unit 1: led by pserver 0, copies in sync on 1; the furthest copy is 7 updates behind',
    );
    expect(of.get(1)![1]!.title).toBe('unit 2: without a primary, copies in sync on 1');
  });
});

test('those who wait for the same are one group, the largest first', () => {
  const groups = waitGroups([
    { from: 'pserver 0', to: 'trainer b', what: 'a push' },
    { from: 'trainer a', to: 'pserver 1', what: 'a pull' },
    { from: 'trainer b', to: 'pserver 1', what: 'a pull' },
    { from: 'trainer b', to: 'pserver 1', what: 'a pull' },
  ]);
  expect(groups.map(waitText)).toEqual([
    'trainer a and trainer b wait for pserver 1: a pull',
    'pserver 0 waits for trainer b: a push',
  ]);
});

describe('marks', () => {
  test('that a process is silent says more than that it was slow; slow says more than waiting', () => {
    expect(markOf({ state: 'silent', slow: 'slow' })).toBe('silent');
    expect(markOf({ state: 'waiting', slow: 'slow' })).toBe('slow');
    expect(markOf({ state: 'waiting' })).toBe('waiting');
  });

  test('what a process waits for is told as that', () => {
    expect(activityText({ state: 'waiting', activity: 'pserver 1' })).toBe('waits for pserver 1');
    expect(activityText({ state: 'silent', activity: 'does not answer' })).toBe('does not answer');
  });

  test('of too many, those with trouble come first', () => {
    const error = { log: 'trainer', time: 0, level: 'error', text: 'refused' } as const;
    const processes = [
      samplePserver(0),
      { ...samplePserver(1), slow: 'slow' },
      { ...sampleTrainer(0), state: 'silent' as const },
      { ...sampleTrainer(1), errors: [error] },
    ];
    const keys = (most: number): string[] => mostTroubled(processes, most).map(({ key }) => key);
    expect(keys(3)).toEqual(['trainer 1ab3f0', 'pserver 1', 'trainer 2c47d9']);
    expect(keys(4)).toEqual(['pserver 0', 'pserver 1', 'trainer 1ab3f0', 'trainer 2c47d9']);
  });
});
