/** The copies of units, as `status` shows them. */
import { describe, expect, it } from 'vitest';
import type { UnitCopiesStatus } from '../../../src/cluster/client/describe-copies.ts';
import { copiesLine, copiesTable } from '../../../src/commands/status/copies-text.ts';
import { verificationText } from '../../../src/commands/status/verify-copies.ts';
import type { ShownCopy } from '../../../src/protocol/messages/copies.ts';

const unitOf = (unit: number, inSync: readonly number[], copies: ShownCopy[]): UnitCopiesStatus => {
  return { unit, primary: 0, inSync, told: { unit, epoch: 2, committed: 100 + unit, staged: 0, copies } };
};
const EVEN = unitOf(0, [0, 1], [{ index: 1, state: 'inSync', behind: 0 }]);
const BEHIND = unitOf(1, [0, 2], [{ index: 2, state: 'inSync', behind: 3 }]);
const LACKING = unitOf(2, [0], [{ index: 2, state: 'copying' }]);
const JOINING = unitOf(3, [0], [{ index: 1, state: 'joining', behind: 1 }]);
const ORPHAN: UnitCopiesStatus = { unit: 4, primary: undefined, inSync: [], told: undefined };
const SILENT: UnitCopiesStatus = { unit: 5, primary: 1, inSync: [1, 2], told: undefined };

const textOf = (units: readonly UnitCopiesStatus[], isWide = false): string | undefined =>
  copiesTable(units, {
    ...{ isWide, replicas: 2 },
    table: (columns, rows) => [columns.map(({ head }) => head), ...rows].map((row) => row.join(' | ')).join('\n'),
  });

describe('copies of units', () => {
  it('are summed up in a line', () => {
    expect(copiesLine([EVEN], 2)).toBe('copies: 2 of 2 in sync');
    expect(copiesLine([EVEN, BEHIND, LACKING, JOINING], 2)).toBe(
      'copies: 6 of 8 in sync; 2 being made; furthest behind: unit 1 on pserver 2, 3 updates',
    );
  });

  it('have a table of the units that lack some', () => {
    expect(textOf([EVEN, BEHIND])).toBeUndefined();
    expect(textOf([EVEN, LACKING, JOINING, ORPHAN])?.split('\n')).toEqual([
      'unit | primary | position | other copies',
      '2 | 0 | 102 | 2 (copying)',
      '3 | 0 | 103 | 1 (joining, 1 update behind)',
      '4 | none |  | none',
    ]);
  });

  it('have one of all units where that is asked for, and of a dozen otherwise', () => {
    expect(textOf([EVEN, BEHIND, SILENT], true)?.split('\n').slice(1)).toEqual([
      '0 | 0 | 100 | 1',
      '1 | 0 | 101 | 2 (3 updates behind)',
      '5 | 1 |  | 2',
    ]);
    const many = Array.from({ length: 20 }, (_, unit) => unitOf(unit, [0], []));
    expect(textOf(many)?.split('\n').at(-1)).toBe('and 8 more units: see --wide');
    expect(textOf(many, true)?.split('\n')).toHaveLength(21);
  });
});

describe('the text of a comparison', () => {
  it('names what differs, and what could not be compared', () => {
    const digests = [0, 1].map((pserver) => ({ pserver, digest: `${pserver}`.repeat(64) }));
    const different = [{ unit: 3, shard: 11, position: 40, digests }];
    const unsettled = [{ unit: 5, why: 'no live pserver leads it' }];
    const text = verificationText({ ok: false, units: 8, equal: 5, alone: [7], different, unsettled });
    expect(text.split('\n')).toEqual([
      '5 of 8 units: all copies are equal',
      'one copy, nothing to compare: unit 7',
      'DIFFERENT: unit 3, shard 11, after 40 updates: pserver 0 has 0000000000000000, pserver 1 has 1111111111111111',
      'not compared: unit 5: no live pserver leads it',
    ]);
  });
});
