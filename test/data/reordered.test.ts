import { expect, test } from 'vitest';
import { shuffledTask } from '../../src/core/shuffle.ts';
import { reordered } from '../../src/data/reordered.ts';
import type { TaskRecords } from '../../src/data/source.ts';
import type { Batch } from '../../src/model/model.ts';
import * as fc from '../properties.ts';
import { sparseTask } from './formats/libsvm/sparse-text.ts';

const BATCH = 3;

/** A record a line; those with a label of 7 are bad. */
const recordsOf = (lines: readonly string[]): TaskRecords =>
  sparseTask({ file: 'data', text: lines.join(''), labels: { task: 'binary', mayHaveWeight: true }, batchSize: BATCH });

/** Each record of a batch as text: independent of how ids are numbered. */
function unfolded({ records, labels, weights, groups, sparse }: Batch): string[] {
  const { offsets, rows, values, ids } = sparse[0]!;
  const halves = new DataView(ids.buffer, ids.byteOffset);
  return Array.from({ length: records }, (_, record) => {
    const features = Array.from({ length: offsets[record + 1]! - offsets[record]! }, (__, n) => {
      const at = offsets[record]! + n;
      return `${halves.getBigUint64(8 * rows[at]!, true)}:${values?.[at] ?? 1}`;
    });
    const group = groups && Buffer.from(groups).readBigUInt64LE(8 * record);
    return `${labels[record]} ${weights?.[record] ?? 1} ${group ?? 'none'} ${features.join(' ')}`;
  });
}

const line = fc
  .record({
    label: fc.constantFrom('1', '0', '7', '1:0.5'),
    group: fc.constantFrom('', ' qid:3'),
    features: fc.array(fc.tuple(fc.constantFrom(1, 2, 5, 900), fc.constantFrom('1', '0.25')), { maxLength: 4 }),
  })
  .map(
    ({ label, group, features }) => `${label}${group}${features.map(([id, value]) => ` ${id}:${value}`).join('')}\n`,
  );

test('a shuffled task has each record once, with what belongs to it', () => {
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 20 }), fc.nat(50), fc.nat(5), (lines, seed, pass) => {
      const records = recordsOf(lines);
      const order = shuffledTask(lines.length, seed, pass, 2);
      const other = reordered(records, order);
      const single = (position: number): string[] => unfolded(records.batch(position, position + 1));
      const hasWeights = records.batch(0, lines.length).groups !== undefined;
      let good = 0;
      for (let from = 0; from < lines.length; from += BATCH) {
        const to = Math.min(from + BATCH, lines.length);
        const batch = other.batch(from, to);
        const wanted = [...order.subarray(from, to)].flatMap(single);
        expect(unfolded(batch)).toEqual(wanted);
        expect(batch.groups !== undefined).toBe(hasWeights);
        good += batch.records;
        expect(other.goodBefore(to)).toBe(good);
      }
      expect(other.bad).toBe(records.bad);
    }),
  );
});

test('messages name the lines of the records, in the order of the file', () => {
  const records = recordsOf(Array.from({ length: 12 }, (_, at) => `1 ${at}:1\n`));
  const order = Uint32Array.of(4, 11, 0, 1, 2, 3, 5, 6, 7, 8, 9, 10);
  const other = reordered(records, order);
  expect(other.describe(0, 3)).toBe('data, line 1; data, line 5; data, line 12');
  expect(other.describe(0, 12)).toMatch(/^data, line 1; .*data, line 8; and 4 more$/);
});

test('the order depends on seed, pass and task', () => {
  const orders = [
    shuffledTask(50, 1, 0, 0),
    shuffledTask(50, 1, 1, 0),
    shuffledTask(50, 1, 0, 1),
    shuffledTask(50, 2, 0, 0),
  ];
  expect(new Set(orders.map(String)).size).toBe(4);
  for (const order of orders)
    expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, at) => at));
  expect(String(shuffledTask(50, 1, 0, 0))).toBe(String(orders[0]));
});
