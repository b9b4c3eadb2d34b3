/** Interactions as rankers have them: what divides their fields, what follows them, whose they are. */
import { describe, expect, test } from 'vitest';
import { categoryId, hash64, vocabularySeed } from '../../../../src/data/columns/hash.ts';
import { formatOf } from '../../../../src/data/formats/registry.ts';
import { parseJobFile } from '../../../../src/job/load-job.ts';
import { columnSpecOf, type RequestedJob } from '../../../../src/job/schema.ts';
import { NO_GROUP } from '../../../../src/model/model.ts';
import { placeWith, recordsOf } from '../csv/read-files.ts';
import { readForward } from '../forward-records.ts';

const jobOf = (data = ''): RequestedJob =>
  parseJobFile('job', `name: a\nmodel: { type: fm }\ndata: { format: interactions, train: x, ${data} }`);

const RATED = 'columns: { user: category, item: category, rating: { type: label, positive: ["5"] } }';

async function readOf(text: string, data = '') {
  const job = jobOf(data);
  const spec = columnSpecOf(job)!;
  const { groupBy } = job.data;
  const how = { format: 'interactions', what: 'x', spec, groupBy, labels: { task: 'binary' } } as const;
  return await recordsOf(placeWith({ x: text }), how);
}

/** Of text with tabs, which all others have to be read as. */
const PLAIN = 'ann\tx 1\t5\nbob\ty\t1\n\nann\tz\t5\n';

test('a header of RecBole is no interaction', async () => {
  const text = 'user_id:token\titem_id:token\trating:float\nann\tx\t5\n';
  await expect(readOf(text)).rejects.toMatchObject({
    code: 'DataInvalid',
    message: 'x:1: expected a record, found a header line as RecBole writes it',
    hint: 'set data.csv.header to true',
  });
  expect(await readOf(text, 'csv: { header: true }')).toMatchObject({ labels: [1], bad: [] });
  expect(await readOf('ann:token\tx\t5\n')).toMatchObject({ labels: [1], bad: [] });
});

describe('what divides the fields', () => {
  test.each([
    ['::', PLAIN.replaceAll('\t', '::')],
    ['::', PLAIN.replaceAll('\t', ' ::\t')],
    [',', PLAIN.replaceAll('\t', ',')],
    ['|', PLAIN.replaceAll('\t', ' | ')],
    [';', PLAIN.replaceAll('\t', ';').replaceAll('5\n', '5;;more\r\n')],
    ['\t', `\ufeff${PLAIN}`],
    ['\t', PLAIN.replaceAll('\n', '\t881250949\t"\n').replace('\n\t881250949\t"', '\n')],
  ])('%s', async (delimiter, text) => {
    const plain = await readOf(PLAIN, RATED);
    expect(plain.labels).toEqual([1, 0, 1]);
    const read = await readOf(text, `${RATED}, csv: { delimiter: ${JSON.stringify(delimiter)} }`);
    expect({ ...read, index: undefined }).toEqual({ ...plain, index: undefined });
  });

  test('any number of blanks, those at the beginning and the end of a line included', async () => {
    const data = `${RATED}, csv: { delimiter: " " }`;
    const plain = await readOf('ann x 5\nbob y 1\n', data);
    expect(plain).toMatchObject({ labels: [1, 0], bad: [] });
    for (const text of [
      'ann x 5\n  bob   y 1 \n',
      '  ann   x 5  12\n \t\n\tbob y\t 1\r\n   ',
      '\nann x 5\nbob y 1 é é',
    ]) {
      const read = await readOf(text, data);
      expect({ ...read, index: undefined }).toEqual({ ...plain, index: undefined });
    }
  });

  test('a colon that is there once is part of a value, and a third one of the next', async () => {
    const text = 'a:b::c::5\n::::5\na:::c::5\na::c:5\n';
    const { bad, bits } = await readOf(text, `${RATED}, csv: { delimiter: "::" }`);
    expect(bad).toEqual([expect.stringMatching(/^x:4: 2 fields, expected 3$/)]);
    const same = await readOf('a:b\tc\t5\n\t\t5\na\t:c\t5\na\n', RATED);
    expect(bits).toEqual(same.bits);
  });

  test('the first line is a line like others, however long it is and whatever it lacks', async () => {
    const plain = await readOf('1\t2\n3\t4\n');
    for (const more of ['\tx'.repeat(5000), `\t${'x'.repeat(1 << 20)}`]) {
      const read = await readOf(`1\t2${more}\n3\t4\n`);
      expect({ ...read, index: undefined }).toEqual({ ...plain, index: undefined });
    }
    const { bad, labels } = await readOf('oops\n1\t2\n');
    expect([bad, labels]).toEqual([['x:1: 1 fields, expected 2'], [1]]);
  });

  test('blanks at the end of a line are no field', async () => {
    const { bad, labels } = await readOf('5 7 \n5 7 1 \n', `${RATED}, csv: { delimiter: " " }`);
    expect([bad, labels]).toEqual([['x:1: 2 fields, expected 3'], [0]]);
  });

  test('a file that is not divided by it is refused, with what looks like it', async () => {
    await expect(readOf('1::2::5\n')).rejects.toMatchObject({
      message: expect.stringMatching(/x:1: 1 fields, column item is at position 2$/),
      hint: 'the fields seem to be separated by "::": set data.csv.delimiter; for predict, pass --delimiter',
    });
    await expect(readOf('1 2 5\n')).rejects.toMatchObject({ hint: expect.stringContaining('" "') });
  });
});

describe('records', () => {
  test('without a label are all positive', async () => {
    const { labels, bad } = await readOf('1\t2\n1\t3\tmore\n4\n');
    expect(labels).toEqual([1, 1]);
    expect(bad).toEqual(['x:3: 1 fields, expected 2']);
  });

  test('have label 1 also where 1 means that there is no value', async () => {
    const { labels, bad } = await readOf('1\t2\n3\t4\n', 'missing: ["1", ""]');
    expect([labels, bad]).toEqual([[1, 1], []]);
  });

  test('have the id of the user as their group, as a column of groups would have it', async () => {
    const both = await readOf('ann\t1\nbob\t2\n\t3\nann\t4\n');
    const idOf = (text: string): bigint => categoryId(Buffer.from(text), vocabularySeed('user'), undefined);
    expect(groupsIn(both.bits)).toEqual([idOf('ann'), idOf('bob'), NO_GROUP, idOf('ann')]);
    const named = await readOf('ann\t1\nbob\t2\n\t3\nann\t4\n', 'columns: { user: group, item: category }');
    expect(groupsIn(named.bits)).toEqual(
      ['ann', 'bob'].map((text) => hash64(Buffer.from(text), vocabularySeed('user'))).concat(NO_GROUP, idOf('ann')),
    );
  });

  test('may be grouped by whole numbers, and by another column', async () => {
    const data = 'columns: { user: { type: category, ids: integer }, item: { type: category, vocabulary: things } }';
    expect(groupsIn((await readOf('7\ta\n\tb\n9\tc\n', data)).bits)).toEqual([7n, NO_GROUP, 9n]);
    const things = categoryId(Buffer.from('b'), vocabularySeed('things'), undefined);
    expect(groupsIn((await readOf('7\tb\n8\t\n', `${data}, groupBy: item`)).bits)).toEqual([things, NO_GROUP]);
  });

  test('with a header are found by their names, or by their places', async () => {
    const text = 'itemId\tuserId\tstars\n10\t1\t5\n20\t2\t1\n';
    const named = await readOf(
      text,
      'csv: { header: true }, columns: { userId: category, stars: { type: label, positive: ["5"] } }',
    );
    expect(named).toMatchObject({ labels: [1, 0], bad: [] });
    expect((await readOf(text, 'csv: { header: true }')).bits).toEqual((await readOf('10\t1\n20\t2\n')).bits);
  });
});

test('predictions need no label, and keep what is not read', async () => {
  const columns = {
    ...columnSpecOf(jobOf(`${RATED}, csv: { delimiter: "::" }`))!,
    statistics: [],
    input: 'sparse' as const,
  };
  const how = { columns, keep: ['item', '4'], batchSize: 2 };
  const read = await readForward('interactions', '1::10::5::late\n1::20::3\n2\n', how);
  expect(read.kept).toEqual(['item', 'field4']);
  expect(read.texts).toEqual([
    ['10', 'late'],
    ['20', ''],
    ['', ''],
  ]);
  const short = await readForward('interactions', '1::10\n1::20\n2\n', how);
  expect(short.records).toEqual(
    read.records.map((record) => (Array.isArray(record) ? record : { ...(record as object), byteOffset: 12 })),
  );
  expect(read.records[2]).toMatchObject({ line: 3, reason: '1 fields, expected 2' });
  expect(formatOf('interactions').hasFields).toBe(true);
});

/** Of records that are read as one task, in one batch. */
function groupsIn([task]: readonly unknown[]): bigint[] {
  const bytes = Buffer.from((task as string[])[3]!, 'hex');
  return Array.from({ length: bytes.length / 8 }, (_, at) => bytes.readBigUInt64LE(8 * at));
}
