/** Lines that are longer than a record may be, of all shapes: tens of megabytes each. */
import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/base/limits.ts';
import { CSV, category, LABEL } from '../columns/samples.ts';
import { expectTooLong, placeWith, recordsOf } from './csv/read-files.ts';

const MiB = 1 << 20;

test.each([
  ['plain', `1,${'x'.repeat(LIMITS.recordBytes)}`, 0],
  ['much longer', `1,${'x'.repeat(100 * MiB)}`, 0],
  ['with line breaks at its beginning', `1,"a\n\nb"${'x'.repeat(LIMITS.recordBytes)}`, 2],
  ['with line breaks at its end', `1,${'x'.repeat(LIMITS.recordBytes)},"a\n""b,\n"`, 2],
  ['with line breaks all over', `1,"a${'1,a\n'.repeat(5 * MiB)}"`, 5 * MiB],
  ['of many quoted fields', `1${',"x"'.repeat(LIMITS.recordBytes / 4)}`, 0],
])('CSV, %s', (_, long, breaks) => expectTooLong(long, breaks));

test('JSON lines', async () => {
  const long = `{"label":1,"c":"${'x'.repeat(LIMITS.recordBytes)}"}`;
  const place = placeWith({ 'a.jsonl': `{"label":0,"c":"a"}\n${long}\n{"label":2,"c":"b"}\n${long}` });
  const spec = { columns: [LABEL, category('c')], dialect: CSV };
  const { labels, bad, records } = await recordsOf(place, {
    what: 'a.jsonl',
    format: 'jsonl',
    spec,
    recordsPerTask: 2,
  });
  expect([labels, records]).toEqual([[0, 2], 4]);
  expect(bad).toEqual([2, 4].map((at) => expect.stringMatching(`^a.jsonl:${at}: .*${LIMITS.recordBytes}`)));
});
