/** The columns that Parquet files become in the cache: made once, whole or missing, and again when they are damaged. */
import { readdirSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, test, vi } from 'vitest';
import type { ColumnSpec } from '../../../../src/data/columns/column.ts';
import { parquetFormat } from '../../../../src/data/formats/parquet/format.ts';
import { CSV, LABEL, list, number } from '../../columns/samples.ts';
import { indexOf, placeWith, readAll, recordsOf } from '../csv/read-files.ts';

const parquetOf = (columnData: Parameters<typeof parquetWriteBuffer>[0]['columnData']): Buffer =>
  Buffer.from(parquetWriteBuffer({ columnData }));

describe('columns in the cache', () => {
  const spec: ColumnSpec = { columns: [LABEL, number('x')], dialect: CSV };
  const small = (values: number[]): Buffer =>
    parquetOf([
      { name: 'label', data: values, type: 'INT32' },
      { name: 'x', data: values, type: 'DOUBLE' },
    ]);
  const how = { what: 'a.parquet', format: 'parquet', spec } as const;

  test('are made once for a file and the columns of a job, and again for another file', async () => {
    const place = placeWith({ 'a.parquet': small([1, 2, 3]) });
    const made = (): string[] => readdirSync(join(place.cacheFolder, 'columns'));
    expect((await recordsOf(place, how)).labels).toEqual([1, 2, 3]);
    const first = made();
    expect((await recordsOf(place, how)).labels).toEqual([1, 2, 3]);
    expect(made()).toEqual(first);
    await recordsOf(place, { ...how, spec: { ...spec, columns: [LABEL, number('z', { path: 'x' })] } });
    // What a job makes of the values does not matter.
    await recordsOf(place, { ...how, spec: { ...spec, columns: [LABEL, number('x', { quantiles: 2 })] } });
    expect(made()).toHaveLength(2);
    writeFileSync(join(place.folder, 'a.parquet'), small([4, 5, 6]));
    utimesSync(join(place.folder, 'a.parquet'), 1, 1);
    expect((await recordsOf(place, how)).labels).toEqual([4, 5, 6]);
    expect(made()).toHaveLength(3);
  });

  test('that are gone are made again while a job trains; a file that changed is refused', async () => {
    const place = placeWith({ 'a.parquet': small([1, 2, 3]) });
    const index = await indexOf(place, how);
    rmSync(join(place.cacheFolder, 'columns'), { recursive: true });
    const [task] = await readAll(place, index, how);
    expect([...task!.batch(0, 3).labels]).toEqual([1, 2, 3]);
    writeFileSync(join(place.folder, 'a.parquet'), small([1, 2, 4]));
    await expect(readAll(place, index, how)).rejects.toMatchObject({ code: 'DataChanged' });
  });

  const made = (place: { cacheFolder: string }): string[] => readdirSync(join(place.cacheFolder, 'columns'));

  test('that are damaged or cut short are made again', async () => {
    const place = placeWith({ 'a.parquet': small([1, 2, 3]) });
    await indexOf(place, how);
    const cached = join(place.cacheFolder, 'columns', made(place)[0]!);
    const whole = readFileSync(cached);
    for (const damage of [
      () => truncateSync(cached, 0),
      () => truncateSync(cached, whole.length - 1),
      () => writeFileSync(cached, whole.with(17, 9)),
    ]) {
      damage();
      const warn = vi.spyOn(place.host.log, 'warn');
      expect((await recordsOf(place, how)).labels).toEqual([1, 2, 3]);
      expect(warn).toHaveBeenCalledWith('columns in the data cache are damaged; paddlet makes them again', {
        path: cached,
      });
      warn.mockRestore();
      expect(readFileSync(cached)).toEqual(whole);
    }
  });

  test('are made by one of those that open the file at once; what others left is removed; any name will do', async () => {
    const name = `${'long'.repeat(52)}.parquet`;
    const place = placeWith({ [name]: small([1, 2, 3]) });
    const create = vi.spyOn(place.host.disk, 'create');
    const open = () => parquetFormat.open!(place, name, spec);
    for (const { file } of await Promise.all([open(), open(), open()])) await file.close();
    expect(create).toHaveBeenCalledTimes(1);
    const [cached] = made(place);
    rmSync(join(place.cacheFolder, 'columns', cached!));
    writeFileSync(join(place.cacheFolder, 'columns', `.${cached}.0.partial`), 'killed');
    await (await open()).file.close();
    expect(made(place)).toEqual([cached]);
  });

  test('are none of a file that changes while it is read', async () => {
    const place = placeWith({ 'a.parquet': small([1, 2, 3]) });
    const { disk } = place.host;
    const create = disk.create.bind(disk);
    vi.spyOn(disk, 'create').mockImplementation(async (path) => {
      utimesSync(join(place.folder, 'a.parquet'), 1, 1);
      return create(path);
    });
    await expect(indexOf(place, how)).rejects.toMatchObject({ code: 'DataChanged' });
    expect(made(place)).toEqual([]);
  });

  test('need room: an error of the disk says so, one of the file does not', async () => {
    const place = placeWith({ 'a.parquet': small([1, 2, 3]) });
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
      syscall: 'write',
    });
    const create = vi.spyOn(place.host.disk, 'create').mockRejectedValue(full);
    await expect(indexOf(place, how)).rejects.toMatchObject({ code: 'DataCacheFailed', hint: /free space/ });
    create.mockRejectedValue(new TypeError('a bug'));
    await expect(indexOf(place, how)).rejects.toThrow(TypeError);
  });
});

test('whole numbers that are lists in CSV are so here', async () => {
  const file = parquetOf([
    { name: 'label', data: [1, 2], type: 'INT32' },
    { name: 'l', data: [-5, 7], type: 'INT32' },
  ]);
  const place = placeWith({ 'a.parquet': file, 'a.csv': 'label,l\n1,-5\n2,7\n' });
  const spec = { columns: [LABEL, list('l', { separator: '-' })], dialect: CSV };
  const expected = await recordsOf(place, { spec });
  expect((await recordsOf(place, { what: 'a.parquet', format: 'parquet', spec })).bits).toEqual(expected.bits);
});
