/** Damaged bytes of all kinds: they are read, or refused with an error of paddlet. */
import { expect, test } from 'vitest';
import { dice, orRefused, randomBytes } from '../../../formats/garbage.ts';
import { chunkOf, contentOf, golden } from './recordio.ts';

const MAGIC = Buffer.of(4, 3, 2, 1);

test.each(['none', 'snappy', 'snappy-copy', 'gzip', 'chunks'])('%s with other bytes', async (name) => {
  const next = dice(name.length);
  for (let round = 0; round < 100; round++) {
    const bytes = Buffer.from(golden(name));
    for (let count = 1 + next(3); count > 0; count--) bytes[4 + next(bytes.length - 4)] = next(256);
    const cut = next(3) === 0 ? bytes.subarray(0, 4 + next(bytes.length - 4)) : bytes;
    await orRefused(contentOf(cut));
    // What follows the damage is found again. It is long: a damaged size must not lead to the end of the file.
    const skipped = await contentOf(Buffer.concat([cut, chunkOf(['the end'.padStart(300)])]), () => {});
    expect(skipped.endsWith('the end\n')).toBe(true);
  }
});

test('garbage behind the magic number', async () => {
  for (let seed = 0; seed < 100; seed++) {
    const bytes = Buffer.concat([MAGIC, randomBytes(seed, seed * 20), MAGIC, randomBytes(seed + 100, 50)]);
    await orRefused(contentOf(bytes));
    expect(await contentOf(bytes, () => {})).toBe('');
  }
});
