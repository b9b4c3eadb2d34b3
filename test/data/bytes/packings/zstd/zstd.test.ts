/** zstd files: one frame, or several with others between them, which are skipped. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { headOf, openContent } from '../../../../../src/data/bytes/content.ts';
import { dice, orRefused } from '../../../formats/garbage.ts';
import { chunkOf, contentOf, placeOf, textOf } from '../recordio/recordio.ts';

const MIB = 1 << 20;
const TEXT = Array.from({ length: 2000 }, (_, at) => `${at % 2} ${at}:1\n`).join('');
const MORE = '1 7:1\n';
const frame = (text: string | Buffer): Buffer =>
  zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
const skippable = (bytes: number): Buffer => {
  const header = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);
  header.writeUInt32LE(bytes, 4);
  return Buffer.concat([header, Buffer.alloc(bytes, 'x')]);
};
const whole = frame(TEXT);
/** A frame of three bytes as they are, with a window of two to this power. */
const windowed = (log: number): Buffer =>
  Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 1 | (3 << 3), 0, 0, 97, 98, 99]);

test.each([
  ['one frame', [whole], TEXT],
  ['two', [whole, frame(MORE)], TEXT + MORE],
  ['a skippable one between them', [whole, skippable(3), frame(MORE)], TEXT + MORE],
  ['a skippable one first, as pzstd writes', [skippable(4), whole], TEXT],
  ['skippable ones of nothing, and at the end', [skippable(0), whole, skippable(0), skippable(9)], TEXT],
  ['the largest window', [windowed(27)], 'abc'],
  ['an empty one', [frame(''), whole, frame('')], TEXT],
  ['nothing but what is skipped', [skippable(5)], ''],
  ['a frame that begins in another block', [whole, skippable(3 * MIB), frame(MORE)], TEXT + MORE],
  ['one that ends with a block', [skippable(MIB - 8 - whole.length), whole, frame(MORE)], TEXT + MORE],
  ['a magic number over two blocks', [skippable(MIB - 10 - whole.length), whole, frame(MORE)], TEXT + MORE],
  ['RecordIO in it', [frame(chunkOf(['1 1:1', '0 2:1'], 'snappy'))], '1 1:1\n0 2:1\n'],
])('%s', async (_, parts, text) => {
  const place = placeOf(...parts);
  expect(await textOf(place)).toBe(text);
  expect(Buffer.from((await headOf(place, 'a')).bytes).toString()).toBe(text);
  if (text.length < MIB && Buffer.concat(parts).length < MIB) expect(await contentOf(Buffer.concat(parts))).toBe(text);
});

const damaged = Buffer.from(whole);
damaged[whole.length - 1]! ^= 1;

test.each([
  ['cut off', [whole.subarray(0, -9)], 0, 'unexpected end of file'],
  [
    'a second frame that is cut off',
    [whole, skippable(2), frame(MORE).subarray(0, -3)],
    whole.length + 10,
    'unexpected',
  ],
  ['a wrong check sum', [whole, damaged], whole.length, "doesn't match checksum"],
  [
    'a window of 2 GiB',
    [whole, windowed(31)],
    whole.length,
    'expected a zstd window of at most 134217728 bytes, got a larger one',
  ],
  ['skipped bytes that never come', [whole, skippable(9).subarray(0, 12)], whole.length, 'unexpected end of file'],
  ['a magic number and nothing else', [whole, whole.subarray(0, 4)], whole.length, 'unexpected end of file'],
  ['text behind it', [whole, Buffer.from('1 1:1\n')], whole.length, 'bytes that are not zstd data follow'],
  [
    'two bytes behind it',
    [whole, skippable(1), Buffer.of(40, 181)],
    whole.length + 9,
    'bytes that are not zstd data follow',
  ],
])('%s: an error that says where', async (_, parts, at, why) => {
  const place = placeOf(...parts);
  for (const read of [() => textOf(place), () => contentOf(Buffer.concat(parts))]) {
    const error = await read().then(
      () => expect.unreachable(),
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code: 'DataInvalid', message: expect.stringContaining(why) });
    expect(error.message).toContain(`byte ${at}`);
  }
  // Nothing stays; short files fail before anything is written.
  mkdirSync(join(place.cacheFolder, 'inflated'), { recursive: true });
  expect(readdirSync(join(place.cacheFolder, 'inflated'))).toEqual([]);
});

test('damaged bytes of all kinds are read, or refused', async () => {
  const next = dice(9);
  const bytes = Buffer.concat([whole, skippable(5), frame(MORE)]);
  for (let round = 0; round < 100; round++) {
    const other = Buffer.from(bytes.subarray(0, next(2) === 0 ? bytes.length : 4 + next(bytes.length - 4)));
    for (let count = next(3); count > 0; count--) other[4 + next(other.length - 4)] = next(256);
    await orRefused(contentOf(other));
  }
});

test('a file is unpacked once', async () => {
  const place = placeOf(whole);
  await textOf(place);
  const again = { ...place, host: { ...place.host, disk: { ...place.host.disk, create: () => Promise.reject() } } };
  expect(await textOf(again)).toBe(TEXT);
  writeFileSync(join(place.folder, 'tar'), frame('PK\x03\x04'));
  await expect(openContent(place, 'tar')).rejects.toThrow('tar is a zip archive');
});
