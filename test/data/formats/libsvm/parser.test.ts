import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import type { LabelRule } from '../../../../src/data/labels.ts';
import type { ParsedBlock } from '../../../../src/data/parsed/block.ts';
import { blockRecords } from '../../../../src/data/parsed/block-records.ts';
import type { TaskRecords } from '../../../../src/data/source.ts';
import type { Batch } from '../../../../src/model/model.ts';
import type { SparseRecords } from '../../../model/batches.ts';
import * as fc from '../../../properties.ts';
import { type NaiveRecord, parseNaively } from './naive-parser.ts';
import { type SparseText, sparseBlock } from './sparse-text.ts';

const BINARY: LabelRule = { task: 'binary' };
const WEIGHTED: LabelRule = { task: 'binary', mayHaveWeight: true };
const NO_GROUP = 2n ** 64n - 1n;
/** A record that counts 1, and has no group. */
const PLAIN = { weight: 1, group: NO_GROUP };

type How = Partial<Omit<SparseText, 'file' | 'text' | 'labels'>>;

const blockOf = (text: string, labels: LabelRule, how: How): ParsedBlock =>
  sparseBlock({ file: 'f', text: Buffer.from(text, 'latin1'), labels, batchSize: 4, ...how });

const parse = (text: string, rule: LabelRule = BINARY, how: How = {}): TaskRecords =>
  blockRecords(blockOf(text, rule, how));

type Unfolded = SparseRecords & Pick<Batch, 'weights' | 'groups'>;

function sparse(records: TaskRecords, from = 0, to = records.records): Unfolded {
  const { sparse: inputs, dense: _, ...rest } = records.batch(from, to);
  return { ...rest, ...inputs[0]! };
}

/** What each record of the batch has, ids as BigInt. */
function unfold(batch: Unfolded): NonNullable<NaiveRecord['good']>[] {
  const { groups: bytes } = batch;
  const groups = bytes && new BigUint64Array(bytes.buffer, bytes.byteOffset, batch.records);
  const ids = new BigUint64Array(batch.ids.buffer, batch.ids.byteOffset, batch.count);
  return Array.from({ length: batch.records }, (_, record) => {
    const features: [bigint, number][] = [];
    for (let at = batch.offsets[record]!; at < batch.offsets[record + 1]!; at++) {
      features.push([ids[batch.rows[at]!]!, batch.values?.[at] ?? 1]);
    }
    const weight = batch.weights?.[record] ?? 1;
    const fields = batch.fields && [...batch.fields.subarray(batch.offsets[record], batch.offsets[record + 1])];
    const group = groups?.[record] ?? NO_GROUP;
    return { label: batch.labels[record]!, weight, group, features, ...(fields && { fields }) };
  });
}

/** What a block holds, such that -0 and 0 differ. Values, weights and groups that say nothing may be there or not. */
function bitsOf(block: ParsedBlock): unknown {
  const { starts, offsets, rows, ids, ...input } = block.sparse[0]!;
  const values = input.values ?? new Float32Array(rows.length).fill(1);
  const bits = (floats: Float32Array): number[] => [...new Uint32Array(Float32Array.from(floats).buffer)];
  const { records, batchSize, goods, badPositions, runPositions, runLines, notes } = block;
  const numbers = { goods, starts, offsets, rows, ids, badPositions, runPositions, runLines };
  const lists = Object.fromEntries(Object.entries(numbers).map(([name, list]) => [name, [...list]]));
  const good = block.labels.length;
  const weights = bits(block.weights ?? new Float32Array(good).fill(1));
  const groups = [...(block.groups ?? new Uint8Array(8 * good).fill(0xff))];
  const fields = input.fields && [...input.fields];
  const floats = { values: bits(values), labels: bits(block.labels), weights };
  return { records, batchSize, ...lists, ...floats, groups, fields, notes };
}

const reasons = (text: string, rule: LabelRule = BINARY) => parse(text, rule).bad.map(({ reason }) => reason);

const number = fc.oneof(
  fc.double({ noNaN: true }).map(String),
  fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => value.toFixed(6)),
  fc.integer().map(String),
  fc.constantFrom('0', '1', '-0', '.5', '5.', '1e3', '+2.5E-3', '0.1', '1e39', '3.4028235e38', '1e-50'),
  fc.bigInt({ min: 0n, max: 10n ** 30n }).map((digits) => `0.${digits}`),
);
const id = fc.oneof(
  fc.nat(200).map(String),
  fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }).map(String),
  fc.constantFrom('9007199254740993', '18446744073709551615', '18446744073709551616', '007', '00000000000000000000001'),
);
const junk = fc.constantFrom(
  'x',
  ':',
  '1:',
  ':1',
  '1:2:3',
  '-1:1',
  '1:nan',
  '1:inf',
  '1:0x10',
  '5',
  '1:1e',
  '+',
  'qid:1',
  '1:--1',
);
const blank = fc.constantFrom(' ', '  ', '\t', ' \t ');
const feature = fc.oneof(
  { arbitrary: fc.tuple(id, number).map(([i, v]) => `${i}:${v}`), weight: 20 },
  { arbitrary: junk, weight: 1 },
);
const label = fc.oneof(
  { arbitrary: fc.constantFrom('+1', '-1', '0', '1', '1.0', '-1e0'), weight: 10 },
  { arbitrary: fc.oneof(number, junk), weight: 1 },
);
const weight = fc.oneof(
  { arbitrary: fc.constant(''), weight: 4 },
  { arbitrary: number.map((text) => `:${text}`), weight: 2 },
  { arbitrary: fc.constantFrom(':1', ':0', ':-1', ':', ':x', ':1:1', ':1e39', ':0.5'), weight: 1 },
);
const group = fc.oneof(
  { arbitrary: fc.constant(''), weight: 4 },
  { arbitrary: fc.tuple(blank, id).map(([b, i]) => `${b}qid:${i}`), weight: 2 },
  {
    arbitrary: fc.constantFrom(' qid:', ' qid:x', ' qid:1:1', ' qid', ' qid:18446744073709551614', 'qid:1'),
    weight: 1,
  },
);
const field = fc.oneof(
  { arbitrary: fc.nat(4095).map(String), weight: 20 },
  { arbitrary: fc.constantFrom('4096', '-1', '', 'x', '00000000012', '18446744073709551616', '1.5'), weight: 1 },
);
const withField = fc.oneof(
  { arbitrary: fc.tuple(field, feature).map(([f, rest]) => `${f}:${rest}`), weight: 20 },
  { arbitrary: feature, weight: 1 },
);
const recordOf = (feature: fc.Arbitrary<string>) =>
  fc
    .tuple(
      fc.tuple(label, weight, group).map((parts) => parts.join('')),
      fc.array(
        fc.tuple(blank, feature).map(([b, f]) => b + f),
        { maxLength: 8 },
      ),
      fc.constantFrom('', ' ', '\t', ' # 1:1', '#c'),
    )
    .map(([l, features, tail]) => l + features.join('') + tail);
const lineOf = (feature: fc.Arbitrary<string>) =>
  fc.oneof(
    { arbitrary: recordOf(feature), weight: 8 },
    { arbitrary: fc.constantFrom('', ' ', '# comment', '  # 1 2:3', '\r'), weight: 1 },
    { arbitrary: fc.string({ maxLength: 12 }).map((text) => text.replace(/[\n\v\f\u00a0-\uffff]/g, '?')), weight: 1 },
  );
const textOf = (feature: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.array(lineOf(feature), { maxLength: 12 }), fc.constantFrom('\n', '\r\n'), fc.boolean())
    .map(([lines, end, ended]) => lines.join(end) + (ended ? end : ''));

const text = textOf(feature);
/** Text, and whether its features have fields. */
const either = fc.oneof(
  text.map((content) => [content, false] as const),
  textOf(withField).map((content) => [content, true] as const),
);

describe('libsvm and libffm text', () => {
  test('is read as a naive parser reads it', () => {
    fc.assert(
      fc.property(either, fc.constantFrom(BINARY, WEIGHTED), ([content, hasFields], rule) => {
        const expected = parseNaively(content, rule.mayHaveWeight, hasFields);
        const actual = parse(content, rule, { hasFields });
        expect(actual.records).toBe(expected.length);
        expect(actual.bad.map((bad) => bad.line)).toEqual(
          expected.filter((r) => r.good === undefined).map((r) => r.line),
        );
        expect(unfold(sparse(actual))).toEqual(expected.flatMap((r) => r.good ?? []));
      }),
      { numRuns: 1000 },
    );
  });

  test('is read by the kernel as by the plain parser, bit by bit', () => {
    const rules = fc.constantFrom<LabelRule>(
      BINARY,
      WEIGHTED,
      { task: 'multiclass', classes: 3 },
      { task: 'regression' },
      { task: 'regression', mayHaveWeight: true },
    );
    fc.assert(
      fc.property(either, rules, fc.integer({ min: 1, max: 6 }), ([content, hasFields], rule, batchSize) => {
        const how = { batchSize, offset: 100, firstLine: 7, hasFields };
        const actual = blockOf(content, rule, how);
        const expected = blockOf(content, rule, { ...how, plainly: true });
        expect(bitsOf(actual)).toEqual(bitsOf(expected));
      }),
      { numRuns: 3000 },
    );
  });

  test('batches are slices by position, with distinct ids in order of first appearance', () => {
    fc.assert(
      fc.property(either, fc.nat(12), fc.nat(12), fc.integer({ min: 1, max: 5 }), (given, a, b, batchSize) => {
        const [content, hasFields] = given;
        const all = parseNaively(content, true, hasFields);
        const [from, to] = [Math.min(a, b, all.length), Math.min(Math.max(a, b), all.length)];
        const records = parse(content, WEIGHTED, { batchSize, hasFields });
        const batch = sparse(records, from, to);
        const good = all.slice(from, to).flatMap((r) => r.good ?? []);
        expect(unfold(batch)).toEqual(good);
        const ids = new BigUint64Array(batch.ids.buffer, batch.ids.byteOffset, batch.count);
        expect([...ids]).toEqual([...new Set(good.flatMap((r) => r.features.map(([i]) => i)))]);
        expect(records.goodBefore(to) - records.goodBefore(from)).toBe(good.length);
        expect(batch.offsets.length).toBe(batch.records + 1);
      }),
      { numRuns: 500 },
    );
  });

  test('keeps all 64 bits of an id', () => {
    const [read] = unfold(sparse(parse('1 9007199254740993:1 18446744073709551615:2 4294967296:3 0:4')));
    expect(read?.features.map(([i]) => i)).toEqual([9007199254740993n, 18446744073709551615n, 4294967296n, 0n]);
  });

  test('weights and groups are there where a record has one, and never of a bad record', () => {
    const { weights, groups } = sparse(parse('1 qid:7 1:1\n0 2:1\n', WEIGHTED));
    expect(weights).toBeUndefined();
    expect(groups).toEqual(new Uint8Array([7, 0, 0, 0, 0, 0, 0, 0, ...Array(8).fill(255)]));
    const records = unfold(sparse(parse('1 1:1\n1:9 qid:5 1:x\n0:0.5 2:1\n-1 3:1\n', WEIGHTED)));
    expect(records.map(({ weight, group }) => [weight, group])).toEqual([
      [1, NO_GROUP],
      [0.5, NO_GROUP],
      [1, NO_GROUP],
    ]);
    expect(sparse(parse('1 1:1\n0 1:x\n')).groups).toBeUndefined();
  });

  test('a weight needs leave, and has to be a number from 0 on; a group a number below 2^64 - 1', () => {
    expect(reasons('1:0.5 1:1\n')).toEqual(['label "1:0.5" is not +1, -1, 1 or 0']);
    expect(reasons('1:-1 1:1\n1: 1:1\n1:1e39\n2:1 1:1\n', WEIGHTED)).toEqual([
      'weight "-1" is not a number from 0 on',
      'weight "" is not a number from 0 on',
      'weight "1e39" is not a number from 0 on',
      'label "2" is not +1, -1, 1 or 0',
    ]);
    expect(reasons('1 qid:18446744073709551615\n1 qid:-1\n1 1:1 qid:1\n')).toEqual([
      'group "18446744073709551615" is not a whole number from 0 to 2^64-2',
      'group "-1" is not a whole number from 0 to 2^64-2',
      'feature id "qid" is not a whole number from 0 to 2^64-1',
    ]);
  });

  test('keeps features of value 0', () => {
    expect(unfold(sparse(parse('-1 123:0\n')))).toEqual([{ label: 0, ...PLAIN, features: [[123n, 0]] }]);
  });

  test.each([
    ['2 1:1', 'label "2" is not +1, -1, 1 or 0'],
    ['nan 1:1', 'label "nan" is not +1, -1, 1 or 0'],
    ['1 7', 'feature "7" has no ":"'],
    ['1 a:1', 'feature id "a" is not a whole number from 0 to 2^64-1'],
    ['1 :1', 'feature id "" is not a whole number from 0 to 2^64-1'],
    ['1 -3:1', 'feature id "-3" is not a whole number from 0 to 2^64-1'],
    ['1 1.5:1', 'feature id "1.5" is not a whole number from 0 to 2^64-1'],
    ['1 18446744073709551616:1', 'feature id "18446744073709551616" is not a whole number from 0 to 2^64-1'],
    ['1 3:', 'value "" of feature "3" is not a finite 32-bit number'],
    ['1 3:NaN', 'value "NaN" of feature "3" is not a finite 32-bit number'],
    ['1 3:1e39', 'value "1e39" of feature "3" is not a finite 32-bit number'],
    ['1 3:4:5', 'value "4:5" of feature "3" is not a finite 32-bit number'],
    [`1 \x1b[31m${'y'.repeat(60)}`, `feature "\\x1b[31m${'y'.repeat(35)}…" has no ":"`],
  ])('%j is a bad record', (content, reason) => {
    expect(reasons(content)).toEqual([reason]);
  });

  test.each([
    ['1 7', 'feature "7" is not field:id:value'],
    ['1 3:1', 'feature "3:1" is not field:id:value'],
    ['1 1:1:1 qid:3', 'feature "qid:3" is not field:id:value'],
    ['1 4096:3:1', 'field "4096" is not a whole number from 0 to 4095'],
    ['1 :3:1', 'field "" is not a whole number from 0 to 4095'],
    ['1 -1:3:1', 'field "-1" is not a whole number from 0 to 4095'],
    ['1 4294967299:3:1', 'field "4294967299" is not a whole number from 0 to 4095'],
    ['1 1:x:1', 'feature id "x" is not a whole number from 0 to 2^64-1'],
    ['1 1:3:', 'value "" of feature "3" is not a finite 32-bit number'],
    ['1 1:3:4:5', 'value "4:5" of feature "3" is not a finite 32-bit number'],
  ])('%j is a bad record of libffm', (content, reason) => {
    expect(parse(`${content}\n0 4095:7:1`, BINARY, { hasFields: true }).bad.map((bad) => bad.reason)).toEqual([reason]);
  });

  test('a bad record says file, line and byte offset, and keeps its position', () => {
    const records = parse('1 1:1\n\n# c\n1 x\n0 2:1\n', BINARY, { offset: 1000, firstLine: 50 });
    expect(records.bad).toEqual([
      { file: 'f', line: 53, byteOffset: 1011, reason: 'feature "x" has no ":"', text: '1 x' },
    ]);
    expect(records.records).toBe(3);
    expect([0, 1, 2, 3].map((position) => records.goodBefore(position))).toEqual([0, 1, 1, 2]);
    expect(sparse(records, 1, 2).records).toBe(0);
    expect(unfold(sparse(records, 1, 3))).toEqual([{ label: 0, ...PLAIN, features: [[2n, 1]] }]);
    expect(records.describe(0, 3)).toBe('f, lines 50 to 54');
    expect(records.describe(1, 2)).toBe('f, line 53');
  });

  test('labels of classes and of regression', () => {
    expect(reasons('3 1:1\n2 1:1\n-1 1:1\n1.5 1:1', { task: 'multiclass', classes: 3 })).toEqual([
      'label "3" is not a whole number from 0 to 2',
      'label "-1" is not a whole number from 0 to 2',
      'label "1.5" is not a whole number from 0 to 2',
    ]);
    expect([...sparse(parse('3.5 1:1\n-2e1 1:1\n1e40', { task: 'regression' })).labels]).toEqual([3.5, -20]);
  });

  test('a record with too many features is bad', () => {
    const many = `1${' 1:1'.repeat(LIMITS.featuresPerRecord + 1)}`;
    expect(reasons(many)).toEqual([`more than ${LIMITS.featuresPerRecord} features`]);
    expect(sparse(parse(`1${' 1:1'.repeat(LIMITS.featuresPerRecord)}`)).count).toBe(1);
  });
});
