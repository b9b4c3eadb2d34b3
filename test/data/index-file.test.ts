import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { buildIndex } from '../../src/data/index-builder.ts';
import { loadOrBuildIndex } from '../../src/data/index-file.ts';
import type { DataIndex } from '../../src/data/source.ts';
import { createDisk } from '../../src/host/disk.ts';
import { type TestPlace, testPlace } from './place.ts';

const lines = (count: number): string => Array.from({ length: count }, (_, at) => `${at % 2} ${at}:1\n`).join('');

/** A place with a data file, which counts how often that is opened. */
function counting(content: string): TestPlace & { opened: number; path: string } {
  const disk = createDisk();
  const place = testPlace({
    disk: {
      open: (path) => {
        if (path.endsWith('.txt')) counted.opened++;
        return disk.open(path);
      },
    },
  });
  const counted = Object.assign(place, { opened: 0, path: join(place.folder, 'data.txt') });
  writeFileSync(counted.path, content);
  return counted;
}

const load = (place: TestPlace, recordsPerTask = 7): Promise<DataIndex> =>
  loadOrBuildIndex(place, { what: 'data.txt', format: 'libsvm', recordsPerTask });

const kept = (place: TestPlace): string[] => readdirSync(join(place.cacheFolder, 'index'));

describe('the index kept as a file', () => {
  test('is the index that was built, and spares reading the data', async () => {
    const place = counting(lines(25_000));
    const built = await buildIndex(place, { what: 'data.txt', format: 'libsvm', recordsPerTask: 2 });
    expect(await load(place, 2)).toEqual(built);
    expect(place.opened).toBe(2);
    expect(await load(place, 2)).toEqual(built);
    expect(place.opened).toBe(2);
    expect(place.warnings).toEqual([]);
  });

  test('is rebuilt when the data or the settings change', async () => {
    const place = counting(lines(20));
    await load(place);
    writeFileSync(place.path, lines(30));
    expect((await load(place)).records).toBe(30);
    expect((await load(place, 8)).chunks.length).toBe(4);
    utimesSync(place.path, 5, 5);
    await load(place);
    expect(place.opened).toBe(4);
  });

  test.each([
    ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 10)],
    ['empty', () => Buffer.alloc(0)],
    ['changed in one digit', (bytes: Buffer) => Buffer.from(bytes.toString().replace(',7,', ',8,'))],
  ])('is not believed when %s', async (_, damage) => {
    const place = counting(lines(20));
    const good = await load(place);
    const [name = ''] = kept(place);
    const path = join(place.cacheFolder, 'index', name);
    const damaged = damage(readFileSync(path));
    expect(damaged.equals(readFileSync(path))).toBe(false);
    writeFileSync(path, damaged);
    expect(await load(place)).toEqual(good);
    expect(place.warnings.length).toBe(1);
    expect(await load(place)).toEqual(good);
    expect(place.warnings.length).toBe(1);
    expect(kept(place)).toEqual([name]);
  });

  test('is not kept when the data changed while it was built', async () => {
    const disk = createDisk();
    const place = testPlace({
      disk: {
        open: (path) => {
          if (path.endsWith('.txt')) utimesSync(path, 9, 9);
          return disk.open(path);
        },
      },
    });
    writeFileSync(join(place.folder, 'data.txt'), lines(5));
    await expect(load(place)).rejects.toMatchObject({ code: 'DataChanged' });
  });

  test('that cannot be written is an error of the cache', async () => {
    const place = counting(lines(5));
    writeFileSync(place.cacheFolder, 'a file');
    await expect(load(place)).rejects.toMatchObject({ code: 'DataCacheFailed' });
  });
});
