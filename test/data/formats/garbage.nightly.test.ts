/** 10^7 bytes of garbage in each format: random ones, and files in which bytes were changed, or pieces were moved. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, test } from 'vitest';
import { encodeChunk } from '../../../src/data/bytes/packings/recordio/body.ts';
import type { ColumnSpec } from '../../../src/data/columns/column.ts';
import type { DataFormat } from '../../../src/data/formats/registry.ts';
import { buildIndex } from '../../../src/data/index-builder.ts';
import { createTaskReader } from '../../../src/data/task-reader.ts';
import { cutTasks } from '../../../src/data/tasks.ts';
import { CSV, category, LABEL, list, number } from '../columns/samples.ts';
import { testPlace } from '../place.ts';
import { columnsOf } from './columns/converted.ts';
import { dice, orRefused, randomBytes, readInAllWays } from './garbage.ts';

const BYTES = 10_000_000;
const ROWS = 2_000;
const SPEC: ColumnSpec = { columns: [LABEL, number('x'), category('c'), list('l', { maxLength: 5 })], dialect: CSV };

const lines = (line: (row: number) => string): string => Array.from({ length: ROWS }, (_, row) => line(row)).join('');
const CSV_TEXT = `label,x,c,l\n${lines((row) => `${row % 2},${row / 8},"São ${row % 9}",a|b${row}\n`)}`;
const JSON_TEXT = lines((row) => `{"label":${row % 2},"x":${row / 8},"c":"São","l":["a","b${row}"]}\n`);
const LIBSVM_TEXT = lines((row) => `${row % 2} qid:${row} ${row}:${row / 8} 18446744073709551615:-1e-3\n`);
const LIBFFM_TEXT = lines((row) => `${row % 2} 0:${row}:1 7:${row % 9}:0.25 3:18446744073709551615:1\n`);

function parquetFile(): Buffer {
  const rows = Array.from({ length: ROWS }, (_, row) => row);
  const columnData = [
    { name: 'label', data: rows.map((row) => row % 2), type: 'INT32' as const },
    { name: 'x', data: rows.map((row) => row / 8), type: 'DOUBLE' as const },
    { name: 'c', data: rows.map((row) => `São ${row % 9}`), type: 'STRING' as const },
    { name: 'l', data: rows.map((row) => `a|b${row}`), type: 'STRING' as const },
  ];
  return Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: 500 }));
}

function columnsFile(): Promise<Buffer> {
  const place = testPlace();
  writeFileSync(join(place.folder, 'a.csv'), CSV_TEXT);
  return columnsOf(place, 'a.csv', SPEC);
}

/** In chunks of 100 records. */
function recordioFile(compressor: 'none' | 'snappy' | 'gzip'): Buffer {
  const records = CSV_TEXT.trimEnd()
    .split('\n')
    .map((line) => Buffer.from(line));
  const chunks = Array.from({ length: Math.ceil(records.length / 100) }, (_, at) => {
    return encodeChunk(records.slice(100 * at, 100 * (at + 1)), compressor);
  });
  return Buffer.concat(chunks);
}

const INTERACTIONS: ColumnSpec = {
  columns: [category('c', { position: 1 }), number('x', { position: 2 }), { name: 'y', type: 'label', value: 1 }],
  dialect: { ...CSV, header: false, delimiter: '::', quote: null },
};

const FILES: readonly [string, format: DataFormat, make: () => Buffer | Promise<Buffer>, spec?: ColumnSpec][] = [
  ['csv', 'csv', () => Buffer.from(CSV_TEXT)],
  [
    'interactions',
    'interactions',
    () => Buffer.from(lines((row) => `São ${row % 9}::${row / 8}::${row}\n`)),
    INTERACTIONS,
  ],
  ['jsonl', 'jsonl', () => Buffer.from(JSON_TEXT)],
  ['libsvm', 'libsvm', () => Buffer.from(LIBSVM_TEXT)],
  ['libffm', 'libffm', () => Buffer.from(LIBFFM_TEXT)],
  ['parquet', 'parquet', parquetFile],
  ['columns', 'columns', columnsFile],
  ['RecordIO', 'csv', () => recordioFile('none')],
  ['RecordIO with snappy', 'csv', () => recordioFile('snappy')],
  ['RecordIO with gzip', 'csv', () => recordioFile('gzip')],
  ['gzip', 'csv', () => gzipSync(CSV_TEXT)],
  ['zstd', 'csv', () => zstdCompressSync(CSV_TEXT)],
];

describe.each(FILES)('%s', (_, format, make, spec = SPEC) => {
  const read = (bytes: Buffer): Promise<number> => readInAllWays(bytes, spec, format);

  test('the file itself is read', async () => {
    expect(await read(await make())).toBe(ROWS);
  });

  test('random bytes, also behind what begins such a file', async () => {
    const file = await make();
    for (let at = 0; at < 10; at++) {
      const random = randomBytes(at, BYTES / 10);
      await read(at % 2 === 0 ? random : Buffer.concat([file.subarray(0, 1 + 50 * at), random]));
    }
  });

  test('bytes were changed', async () => {
    const next = dice(7);
    const file = await make();
    for (let done = 0; done < BYTES; done += file.length) {
      const bytes = Buffer.from(file);
      const changes = 1 + next(20);
      for (let change = 0; change < changes; change++) bytes[next(bytes.length)] = next(256);
      await read(bytes);
    }
  });

  test('pieces were left out, repeated and moved', async () => {
    const next = dice(8);
    const file = await make();
    for (let done = 0; done < BYTES; done += file.length) {
      const pieces: Buffer[] = [file.subarray(0, next(file.length))];
      for (let piece = 0; piece < 10; piece++) {
        const from = next(file.length);
        pieces.push(file.subarray(from, from + next(file.length - from)));
      }
      await read(Buffer.concat(pieces).subarray(0, file.length));
    }
  });
});

/** Of images and labels. */
async function readIdx(images: Buffer, labels: Buffer): Promise<void> {
  const place = testPlace();
  const what = 'a-images-idx3-ubyte';
  writeFileSync(join(place.folder, what), images);
  writeFileSync(join(place.folder, 'a-labels-idx1-ubyte'), labels);
  const index = await orRefused(buildIndex(place, { what, format: 'idx', recordsPerTask: 100 }));
  if (index === undefined) return;
  const classes = { task: 'multiclass', classes: 9 } as const;
  const { files, featureBound } = index;
  const options = { format: 'idx', files, labels: classes, inputWidth: Number(featureBound), batchSize: 7 } as const;
  const reader = createTaskReader(place, options);
  for (const chunks of cutTasks(index, 100)) await reader.read(chunks);
  await reader.close();
}

test('idx', async () => {
  const next = dice(9);
  let indexed = 0;
  for (let done = 0; done < BYTES; done += 10_000) {
    const [count, rows, columns] = [1 + next(20), 1 + next(20), 1 + next(20)];
    const images = randomBytes(done, 16 + count * rows * columns);
    const labels = randomBytes(done + 1, 8 + count);
    for (const [at, value] of [2051, count, rows, columns].entries()) images.writeUInt32BE(value, 4 * at);
    for (const [at, value] of [2049, count].entries()) labels.writeUInt32BE(value, 4 * at);
    // Of most files a byte of the header is another one.
    if (next(3) > 0) images[next(16)] = next(256);
    else indexed += 1;
    await readIdx(images, labels);
  }
  expect(indexed).toBeGreaterThan(100);
});
