/** Archives and packed files: refused wherever a data file is opened, and no text is taken for one. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { headOf, openContent } from '../../../src/data/bytes/content.ts';
import { packedAs } from '../../../src/data/bytes/packed.ts';
import { testFolder, testPlace } from '../place.ts';

const GOOD = '1 1:1\n'.repeat(100);

function tar(format: string): Buffer {
  const folder = testFolder();
  writeFileSync(join(folder, 'ok.svm'), GOOD);
  execFileSync('tar', [`--format=${format}`, '-cf', 'a.tar', 'ok.svm'], { cwd: folder });
  return readFileSync(join(folder, 'a.tar'));
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const PACKED: [what: string, content: Buffer][] = [
  ...['v7', 'gnu', 'ustar', 'pax'].map((format): [string, Buffer] => ['a tar archive', tar(format)]),
  ['a bzip2 file', bytes('BZh91AY&SY\x01\x02')],
  ['a bzip2 file', bytes('BZh9\x17rE8P\x90\0\0\0\0')],
  ['an xz file', bytes('\xfd7zXZ\0\0\x04')],
  ['a zip archive', bytes('PK\x03\x04\x14\0')],
  ['a zip archive', bytes(`PK\x05\x06${'\0'.repeat(18)}`)],
  ['a Parquet file', bytes('PAR1\x15\x04')],
];

test.each(PACKED)('%s is refused, however it is opened', async (what, content) => {
  const place = testPlace();
  for (const [name, written] of [
    ['a', content],
    ['a.gz', gzipSync(content)],
  ] as const) {
    writeFileSync(join(place.folder, name), written);
    for (const open of [openContent, headOf]) {
      await expect(open(place, name)).rejects.toMatchObject({
        code: 'DataInvalid',
        message: `${name} is ${what}`,
        hint: expect.stringMatching(/unpack|decompress|set data.format to parquet/),
      });
    }
  }
});

test('a file that inflates to much is refused by its first bytes: nothing of it is written', async () => {
  const place = testPlace({ disk: { create: () => Promise.reject(new Error('inflated')) } });
  writeFileSync(join(place.folder, 'a.tar.gz'), gzipSync(Buffer.concat([tar('v7'), Buffer.alloc(1 << 24)])));
  await expect(openContent(place, 'a.tar.gz')).rejects.toMatchObject({ code: 'DataInvalid' });
});

test.each([
  ['nothing', ''],
  ['records', GOOD],
  ['records after letters', `BZh9 1:1\n${GOOD}`],
  ['more letters', `PAR1 PK 1:1\n${GOOD}`],
  ['a record with the word of a tar archive', `${'1'.padEnd(257)}ustar ${GOOD}`],
  ['as many zeros as in a block of a tar archive', '\0'.repeat(1024)],
  ['an idx file', `\0\0\x08\x03\0\0\0\x01\0\0\0\x1c\0\0\0\x1c${'\0'.repeat(784)}`],
  ['a byte order mark', `\xef\xbb\xbf${GOOD}`],
])('%s is not', (_, content) => {
  expect(packedAs(bytes(content))).toBeUndefined();
});

test('an old archive is known by its checksum', () => {
  const header = Buffer.from(tar('v7').subarray(0, 512));
  expect(packedAs(header)?.what).toBe('a tar archive');
  header[0]! ^= 1;
  expect(packedAs(header)).toBeUndefined();
});
