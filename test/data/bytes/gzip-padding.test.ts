/** Zeros after a member of a gzip file: padding, and what follows them counts as if they were not there. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { headOf, openContent } from '../../../src/data/bytes/content.ts';
import { loadOrBuildIndex } from '../../../src/data/index-file.ts';
import { createRandomStream } from '../../../src/data/synth/random-stream.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { type TestPlace, testPlace } from '../place.ts';

const FIRST = Array.from({ length: 1000 }, (_, at) => `1 ${at}:${Math.sin(at)}\n`).join('');
const SECOND = '0 7:1\n'.repeat(50);
const MIB = 1 << 20;
const member = gzipSync(FIRST);
const zeros = (count: number): Buffer => Buffer.alloc(count);

function placeWith(...parts: readonly Buffer[]): TestPlace {
  const place = testPlace();
  writeFileSync(join(place.folder, 'a.gz'), Buffer.concat(parts));
  return place;
}

async function textOf(place: TestPlace): Promise<string> {
  const { file, bytes } = await openContent(place, 'a.gz');
  const text = Buffer.alloc(bytes);
  await file.read(text, 0);
  await file.close();
  return text.toString();
}

/** Both ways: short files are looked at as a whole before any is inflated. */
async function refusals(place: TestPlace): Promise<{ code: string; message: string }[]> {
  const errors = [];
  for (const open of [openContent, headOf]) {
    errors.push(
      await open(place, 'a.gz').then(
        () => ({ code: 'none', message: 'opened' }),
        (error) => error,
      ),
    );
  }
  const folder = join(place.cacheFolder, 'inflated');
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
  return errors;
}

test.each([
  ['one byte', 1],
  ['ten bytes', 10],
  ['up to the end of a block that is read', MIB - member.length],
  ['up to one byte before the end of a block', MIB - member.length - 1],
  ['up to one byte after the end of a block', MIB - member.length + 1],
  ['1 MiB', MIB],
  ['several blocks', 5 * MIB + 3],
])('zeros between two members, %s: all records are read', async (_, count) => {
  const place = placeWith(member, zeros(count), gzipSync(SECOND));
  expect(await textOf(place)).toBe(FIRST + SECOND);
  const index = await loadOrBuildIndex(place, { what: 'a.gz', format: 'libsvm', recordsPerTask: 100 });
  expect(index.records).toBe(1050);
  expect(Buffer.from((await headOf(place, 'a.gz')).bytes).toString()).toBe(FIRST + SECOND);
});

test('a member that ends where a block ends, then zeros and another', async () => {
  // Stored blocks: the file has the length that the header and the comment give it.
  const plain = gzipSync(FIRST);
  const comment = Buffer.alloc(MIB - plain.length, 'c');
  comment[comment.length - 1] = 0;
  const header = Buffer.from(plain.subarray(0, 10));
  header[3] = 16;
  const whole = Buffer.concat([header, comment, plain.subarray(10)]);
  expect(whole.length).toBe(MIB);
  expect(await textOf(placeWith(whole, zeros(3), member))).toBe(FIRST + FIRST);
});

/** Members of several blocks that do not compress, so that blocks begin and end anywhere in them. */
const LARGE = [1, 2].map((seed) => {
  const random = createRandomStream(seed);
  const line = (): string => `1 ${Math.floor(2 ** 32 * random.uniform())}:${random.uniform()}\n`;
  return Array.from({ length: 200_000 }, line).join('');
});

test.each([1, 1000, 3 * MIB])(
  'large members, %i zeros between them, read faster than they are written',
  async (count) => {
    const [first, second] = LARGE.map((text) => gzipSync(text, { level: 1 }));
    const disk = createDisk();
    const place = placeWith(
      first!,
      zeros(count),
      second!,
      zeros(MIB - ((first!.length + count + second!.length) % MIB)),
      first!,
    );
    const slow = testPlace({
      ...place,
      disk: {
        create: async (path) => {
          const file = await disk.create(path);
          return {
            ...file,
            write: async (bytes, offset) => {
              for (let turn = 0; turn < 20; turn++) await setImmediate();
              await file.write(bytes, offset);
            },
          };
        },
      },
    });
    expect((await textOf(slow)) === LARGE[0]! + LARGE[1]! + LARGE[0]!).toBe(true);
  },
);

test('zeros at the end are passed over', async () => {
  for (const count of [1, 512, 3 * MIB]) expect(await textOf(placeWith(member, zeros(count)))).toBe(FIRST);
});

test('many members, with zeros after each or after none', async () => {
  const parts = Array.from({ length: 40 }, (_, at) => [gzipSync(`1 ${at}:1\n`), zeros((at * 37) % 600)]).flat();
  expect(await textOf(placeWith(...parts))).toBe(Array.from({ length: 40 }, (_, at) => `1 ${at}:1\n`).join(''));
});

test('an empty member, zeros, a member', async () => {
  const place = placeWith(gzipSync(''), zeros(10), member);
  expect(await textOf(place)).toBe(FIRST);
  expect(Buffer.from((await headOf(place, 'a.gz')).bytes).toString()).toBe(FIRST);
});

test.each([[1], [10], [MIB]])('%i zeros, then something else: where it begins', async (count) => {
  for (const rest of [Buffer.from('hello\n'), Buffer.from([31]), Buffer.from([31, 139])]) {
    const from = member.length + count;
    const place = placeWith(member, zeros(count), rest);
    const [opened] = await refusals(place);
    expect(opened).toMatchObject({
      code: 'DataInvalid',
      message: `${join(place.folder, 'a.gz')}: ${rest.length} bytes that are not gzip data follow at byte ${from}; the data before that byte is complete (${FIRST.length} decompressed bytes)`,
    });
  }
});

test.each([
  ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 9), /unexpected end of file/],
  ['cut off in its header', (bytes: Buffer) => bytes.subarray(0, 5), /unexpected end of file/],
  ['with a wrong check sum', (bytes: Buffer) => bytes.fill(0, bytes.length - 8, bytes.length - 4), /incorrect data/],
])('ten zeros, then a member that is %s: the same as without the zeros', async (_, damage, why) => {
  for (const padding of [0, 10]) {
    const place = placeWith(member, zeros(padding), damage(gzipSync(FIRST)));
    for (const { code, message } of await refusals(place)) {
      expect(code).toBe('DataInvalid');
      expect(message).toMatch(why);
      const sound = `the data before that byte is complete (${FIRST.length} decompressed bytes)`;
      expect(message).toContain(`(in the part that begins at byte ${member.length + padding}; ${sound})`);
    }
  }
});

test('little is read twice, and little is kept, however many members and zeros there are', async () => {
  const place = placeWith(...Array.from({ length: 300 }, () => [gzipSync('1 1:1\n'), zeros(20_000)]).flat());
  const disk = createDisk();
  let read = 0;
  const counting = testPlace({
    ...place,
    disk: {
      open: async (path) => {
        const file = await disk.open(path);
        return {
          ...file,
          read: (into, offset) => {
            read += into.length;
            return file.read(into, offset);
          },
        };
      },
    },
  });
  const { bytes, file } = await openContent(counting, 'a.gz');
  await file.close();
  expect(bytes).toBe(300 * 6);
  expect(read).toBeLessThan(3 * 300 * 20_000);
});
