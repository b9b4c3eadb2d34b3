import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { type Content, headOf, openContent } from '../../../src/data/bytes/content.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { type TestPlace, testPlace } from '../place.ts';

const text = Array.from({ length: 200_000 }, (_, at) => `${at % 2} ${at}:1`).join('\n');

async function contentOf(content: Content): Promise<string> {
  const bytes = Buffer.alloc(content.bytes);
  expect(await content.file.read(bytes, 0)).toBe(content.bytes);
  await content.file.close();
  return bytes.toString();
}

function placeWith(name: string, bytes: string | Buffer, options: Parameters<typeof testPlace>[0] = {}): TestPlace {
  const place = testPlace(options);
  writeFileSync(join(place.folder, name), bytes);
  return place;
}

const inflated = (place: TestPlace): string[] => {
  const folder = join(place.cacheFolder, 'inflated');
  return existsSync(folder) ? readdirSync(folder) : [];
};

test('a plain file is read in place, whatever its name', async () => {
  const place = placeWith('plain.gz', 'text\n');
  expect(await contentOf(await openContent(place, 'plain.gz'))).toBe('text\n');
  expect(inflated(place)).toEqual([]);
});

test('a gzip file is inflated once, whatever its name', async () => {
  const place = placeWith('packed.txt', Buffer.concat([gzipSync(text), gzipSync('\nsecond member')]));
  expect(await contentOf(await openContent(place, 'packed.txt'))).toBe(`${text}\nsecond member`);
  expect(inflated(place).length).toBe(1);
  const second = testPlace({ ...place, disk: { create: () => Promise.reject(new Error('inflated a second time')) } });
  expect((await contentOf(await openContent(second, 'packed.txt'))).length).toBe(text.length + 14);
});

test('a changed gzip file is inflated again', async () => {
  const place = placeWith('a.gz', gzipSync('old'));
  expect(await contentOf(await openContent(place, 'a.gz'))).toBe('old');
  writeFileSync(join(place.folder, 'a.gz'), gzipSync('new'));
  utimesSync(join(place.folder, 'a.gz'), 1000, 1000);
  expect(await contentOf(await openContent(place, 'a.gz'))).toBe('new');
});

test('two processes inflate the same file at the same time; both read it whole', async () => {
  const place = placeWith('race.gz', gzipSync(text.repeat(8)));
  const script = join(import.meta.dirname, 'open-content.ts');
  const children = [1, 2].map(() =>
    spawn(process.execPath, [script, place.folder, place.cacheFolder, 'race.gz'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    }),
  );
  const outputs = children.map(() => '');
  const ended = children.map((child, at) => {
    child.stdout.on('data', (data: Buffer) => {
      outputs[at] += data.toString();
    });
    return once(child, 'close');
  });
  // Both are up before either begins.
  await Promise.all(children.map((child) => once(child.stdout, 'data')));
  for (const child of children) child.stdin.end('go');
  expect((await Promise.all(ended)).map(([code]) => code)).toEqual([0, 0]);
  expect(outputs).toEqual(outputs.map(() => `ready ${text.length * 8}\n`));
  expect(inflated(place).length).toBe(1);
});

test('what a killed process left half-written is never used, and goes', async () => {
  const place = placeWith('a.gz', gzipSync('whole'));
  await contentOf(await openContent(place, 'a.gz'));
  const [name = ''] = inflated(place);
  const folder = join(place.cacheFolder, 'inflated');
  await createDisk().remove(join(folder, name));
  writeFileSync(join(folder, `${name}.1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed.partial`), 'who');
  expect(await contentOf(await openContent(place, 'a.gz'))).toBe('whole');
  expect(inflated(place)).toEqual([name]);
});

test.each([
  ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 20)],
  [
    'with a flipped byte',
    (bytes: Buffer) => bytes.fill(bytes[bytes.length >> 1]! ^ 0xff, bytes.length >> 1, (bytes.length >> 1) + 1),
  ],
  ['with a wrong check sum', (bytes: Buffer) => bytes.fill(0, bytes.length - 8, bytes.length - 4)],
])('a gzip file %s is refused, and nothing is left of it', async (_, damage) => {
  const place = placeWith('bad.gz', damage(gzipSync(text)));
  await expect(openContent(place, 'bad.gz')).rejects.toMatchObject({
    code: 'DataInvalid',
    message: expect.stringContaining('bad.gz is not a valid gzip file'),
  });
  expect(inflated(place)).toEqual([]);
});

/** What follows the data, and where the message says that it begins. */
test.each([
  [
    'text',
    (whole: Buffer) => [whole, Buffer.from('hello\n')],
    /: 6 bytes that are not gzip data follow at byte (\d+); /,
  ],
  [
    'one byte',
    (whole: Buffer) => [whole, whole, Buffer.from([31])],
    /: 1 bytes that are not gzip data follow at byte (\d+); /,
  ],
  [
    'a part that is cut off',
    (whole: Buffer) => [whole, whole.subarray(0, whole.length - 9)],
    /part that begins at byte (\d+); /,
  ],
])('%s after the data of a gzip file: how far it is whole', async (_, parts, expected) => {
  // Short files are looked at as a whole before any is inflated.
  for (const [open, content] of [
    [openContent, text],
    [headOf, '1 1:1\n'],
  ] as const) {
    const whole = gzipSync(content);
    const all = parts(whole);
    const place = placeWith('tail.gz', Buffer.concat(all));
    const error: Error = await open(place, 'tail.gz').then(
      () => new Error('opened'),
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code: 'DataInvalid' });
    const members = all.length - 1;
    expect(error.message.match(expected)?.[1], error.message).toBe(String(members * whole.length));
    expect(error.message).toContain(
      `the data before that byte is complete (${members * content.length} decompressed bytes)`,
    );
    expect(inflated(place)).toEqual([]);
  }
});

test('the names and notes in the header of a gzip file are passed over', async () => {
  const plain = gzipSync(text);
  const header = Buffer.from([31, 139, 8, 4 + 8 + 16 + 2, 0, 0, 0, 0, 0, 3, 3, 0, 1, 2, 3, 97, 0, 98, 99, 0, 9, 9]);
  const whole = Buffer.concat([header, plain.subarray(10)]);
  const place = placeWith('named.gz', Buffer.concat([whole, Buffer.from('x')]));
  await expect(openContent(place, 'named.gz')).rejects.toThrow(`follow at byte ${whole.length};`);
});

test('a full disk is an error of the cache, and nothing is left', async () => {
  const disk = createDisk();
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const place = placeWith('a.gz', gzipSync(text), {
    disk: { create: async (path) => ({ ...(await disk.create(path)), write: () => Promise.reject(full) }) },
  });
  await expect(openContent(place, 'a.gz')).rejects.toMatchObject({
    code: 'DataCacheFailed',
    message: expect.stringContaining('ENOSPC'),
    hint: expect.stringContaining('--cache-dir'),
  });
  expect(inflated(place)).toEqual([]);
});

test('a cache folder that cannot be made is an error of the cache', async () => {
  const place = placeWith('a.gz', gzipSync(text));
  writeFileSync(place.cacheFolder, 'a file');
  await expect(openContent(place, 'a.gz')).rejects.toMatchObject({ code: 'DataCacheFailed' });
});

test('a file that changes while it is being inflated is refused', async () => {
  const disk = createDisk();
  const place = placeWith('a.gz', gzipSync(text), {
    disk: {
      create: (path) => {
        utimesSync(join(place.folder, 'a.gz'), 5, 5);
        return disk.create(path);
      },
    },
  });
  await expect(openContent(place, 'a.gz')).rejects.toMatchObject({ code: 'DataChanged' });
  expect(inflated(place)).toEqual([]);
});

test('a missing file and a folder', async () => {
  const place = testPlace();
  mkdirSync(join(place.folder, 'sub'));
  await expect(openContent(place, 'gone.txt')).rejects.toMatchObject({ code: 'DataMissing' });
  await expect(openContent(place, 'sub')).rejects.toMatchObject({ code: 'DataInvalid' });
});
