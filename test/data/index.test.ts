import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import { ForwardBytes } from '../../src/data/bytes/forward.ts';
import { SLICE_BYTES, Slices } from '../../src/data/bytes/slices.ts';
import { CHUNK_BYTES, ChunkCutter } from '../../src/data/chunk-cutter.ts';
import { IndexSink } from '../../src/data/formats/index-sink.ts';
import { sparseLines, sparseReading } from '../../src/data/formats/libsvm/format.ts';
import { readSlices } from '../../src/data/formats/text/read-slices.ts';
import { buildIndex } from '../../src/data/index-builder.ts';
import { noTraits } from '../../src/data/oddities.ts';
import type { SparsePiece } from '../../src/data/piece.ts';
import type { DataIndex } from '../../src/data/source.ts';
import { createTaskReader } from '../../src/data/task-reader.ts';
import { cutTasks, cutTasksByChunks } from '../../src/data/tasks.ts';
import * as fc from '../properties.ts';
import { parseNaively } from './formats/libsvm/naive-parser.ts';
import { isRealDataMissing, REAL_DATA, testPlace } from './place.ts';

const place = testPlace();
const write = (name: string, content: string | Buffer): void => writeFileSync(join(place.folder, name), content);
const build = (what: string | string[], recordsPerTask = 1000): Promise<DataIndex> =>
  buildIndex(place, { what, format: 'libsvm', recordsPerTask });

/** What a naive reader makes of the file. */
function expectedOf(text: string): { records: number; lines: number[]; featureBound: bigint } {
  const records = parseNaively(text);
  const ids = records.flatMap(({ good }) => good?.features.map(([id]) => id) ?? []);
  return {
    records: records.length,
    lines: records.map(({ line }) => line),
    featureBound: ids.reduce((bound, id) => (id < bound ? bound : id + 1n), 0n),
  };
}

/** Around where a number or a u64 ends. */
const largeId = fc
  .tuple(fc.constantFrom(2n ** 53n, 2n ** 63n, 2n ** 64n), fc.bigInt({ min: -3n, max: 3n }))
  .map(([near, by]) => near + by);

const line = fc.oneof(
  {
    arbitrary: fc
      .tuple(fc.constantFrom('+1', '-1', '0'), fc.array(fc.oneof(fc.nat(99), largeId)))
      .map(([l, ids]) => `${l}${ids.map((id) => ` ${id}:1`).join('')}`),
    weight: 6,
  },
  { arbitrary: fc.constantFrom('', '   ', '# 5:5 comment', '\t#', 'broken', '1 2:3 # 500:1'), weight: 2 },
);
const text = fc
  .tuple(fc.array(line, { maxLength: 40 }), fc.constantFrom('\n', '\r\n'), fc.boolean())
  .map(([lines, end, ended]) => lines.join(end) + (ended ? end : ''));

/** In slices of few bytes, so that lines lie across their ends. */
async function scan(content: string, recordsPerTask: number, sliceBytes: number) {
  async function* blocks(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(content);
  }
  const cutter = new ChunkCutter(recordsPerTask);
  const bounds = { featureBound: 0n, fieldBound: 0, labelBound: 0, traits: noTraits() };
  const kind = sparseLines(false);
  const notes = kind.notesOf({ cutter, bounds, onBytes: () => {} });
  const sink = new IndexSink<SparsePiece>(cutter);
  const noted = { quota: sink.quota, badRecords: 0, bad: sink.bad.bind(sink) };
  const add = (piece: SparsePiece, firstLine: number): void => {
    notes.add(piece);
    sink.add(piece, firstLine);
  };
  const reading = sparseReading({ task: 'regression' }, false);
  cutter.startFile(0);
  const slices = new Slices(new ForwardBytes(blocks()), { offset: 0, line: 1, rules: reading.rules, sliceBytes });
  await readSlices(slices, { file: 'scan.txt', reading, watch: sink }, { ...noted, add });
  const records = cutter.endFile();
  notes.finish();
  return { chunks: cutter.chunks, records, ...bounds };
}

describe('the index of text', () => {
  test('counts records, lines, ids and CRCs whatever the buffer cuts', async () => {
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 1, max: 64 }),
        async (content, perTask, buffer) => {
          const expected = expectedOf(content);
          const found = await scan(content, perTask, buffer);
          expect(found.records).toBe(expected.records);
          expect(found.featureBound).toBe(expected.featureBound);
          expect(found.chunks.map((chunk) => chunk.firstLine)).toEqual(
            expected.lines.filter((_, at) => at % perTask === 0),
          );
          const bytes = Buffer.from(content);
          for (const chunk of found.chunks) {
            const own = bytes.subarray(chunk.offset, chunk.offset + chunk.bytes);
            expect(chunk.crc32).toBe(crc32(own));
            expect(parseNaively(own.toString()).length).toBe(chunk.records);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('tasks hold exactly recordsPerTask records across files; the last may be short', async () => {
    const record = '1 1:1\n';
    write('a.txt', record.repeat(7));
    write('b.txt', record.repeat(2));
    write('c.txt', record.repeat(6));
    const index = await build(['c.txt', 'a.txt', 'b.txt'], 4);
    expect(index.files.map((file) => [file.path, file.records])).toEqual([
      ['a.txt', 7],
      ['b.txt', 2],
      ['c.txt', 6],
    ]);
    const tasks = cutTasks(index, 4);
    expect(tasks.map((task) => task.map((chunk) => [chunk.file, chunk.firstRecord, chunk.records]))).toEqual([
      [[0, 0, 4]],
      [
        [0, 4, 3],
        [1, 0, 1],
      ],
      [
        [1, 1, 1],
        [2, 0, 3],
      ],
      [[2, 3, 3]],
    ]);
  });

  test('chunks to tasks, as in the Go master', () => {
    const chunks = (count: number) =>
      Array.from({ length: count }, () => ({
        file: 0,
        offset: 0,
        bytes: 1,
        firstRecord: 0,
        records: 1,
        firstLine: 1,
        crc32: 0,
      }));
    expect(cutTasksByChunks(chunks(100), 5).length).toBe(20);
    expect(cutTasksByChunks(chunks(101), 5).length).toBe(21);
    expect(cutTasksByChunks(chunks(101), 1).length).toBe(101);
    expect(cutTasksByChunks(chunks(101), 0).length).toBe(101);
    expect(cutTasksByChunks(chunks(101), 5).at(-1)?.length).toBe(1);
  });

  test('a byte order mark is passed over', async () => {
    write('bom.txt', '\ufeff1 1:1\n0 2:1\n');
    const index = await build('bom.txt');
    expect(index.chunks[0]).toMatchObject({ offset: 3, records: 2 });
  });

  test('empty files, files of comments and no last line break', async () => {
    write('empty.txt', '');
    write('comments.txt', '# a\n\n  # b');
    write('unended.txt', '1 1:1\n0 2:1');
    await expect(build('empty.txt')).rejects.toMatchObject({ code: 'DataInvalid' });
    await expect(build(['comments.txt', 'empty.txt'])).rejects.toThrow('no records in comments.txt, empty.txt');
    expect((await build(['empty.txt', 'unended.txt'])).files.map((file) => file.records)).toEqual([0, 2]);
  });

  test('records too long for memory are found, skipped and reported; what surrounds them is read', async () => {
    const long = (bytes: number): string => `1 ${'7:1 '.repeat(Math.ceil(bytes / 4))}`;
    const lines = [
      '1 1:1',
      long(LIMITS.recordBytes),
      `#${'c'.repeat(2 * LIMITS.recordBytes)}`,
      '0 2:1',
      // Of few features: many take long to read.
      `1 7:1 #${'c'.repeat(3 * LIMITS.recordBytes)}`,
      '1 3:1',
      '1 4:1',
    ];
    write('long.txt', `${lines.join('\n')}\n`);
    const index = await build('long.txt', 10);
    expect(index.records).toBe(6);
    const reader = createTaskReader(place, {
      format: 'libsvm',
      files: index.files,
      labels: { task: 'binary' },
      inputWidth: 0,
      batchSize: 4,
    });
    const tasks = cutTasks(index, 10);
    expect(tasks.length).toBe(1);
    const records = await reader.read(tasks[0]!);
    await reader.close();
    expect(records.bad.map(({ line, byteOffset }) => [line, byteOffset])).toEqual([
      [2, 6],
      [5, lines.slice(0, 4).join('\n').length + 1],
    ]);
    expect(records.bad[0]?.reason).toContain(`at most ${LIMITS.recordBytes}`);
    expect([0, 1, 2, 3, 4, 5, 6].map((position) => records.goodBefore(position))).toEqual([0, 1, 1, 2, 2, 3, 4]);
  });

  test('chunks fit into memory whatever recordsPerTask says', async () => {
    const record = `1 7:1 #${'c'.repeat(2 ** 22)}\n`;
    const count = Math.ceil((1.2 * CHUNK_BYTES) / record.length);
    write('wide.txt', record.repeat(count));
    const index = await build('wide.txt', 1_000_000);
    expect(index.chunks.length).toBe(2);
    for (const chunk of index.chunks) expect(chunk.bytes).toBeLessThanOrEqual(CHUNK_BYTES);
    const tasks = cutTasks(index, 1_000_000);
    expect(tasks.map((task) => task.length)).toEqual([2]);
  });

  test('a comment that is longer than a record can be is not in a chunk', async () => {
    const record = '1 1:1\n';
    write('long.txt', `${record}#${' '.repeat(LIMITS.recordBytes + 3 * SLICE_BYTES)}\n${record}`);
    const index = await build('long.txt');
    expect(index.chunks.map(({ bytes, records, firstLine }) => [bytes, records, firstLine])).toEqual([
      [record.length, 1, 1],
      [record.length, 1, 3],
    ]);
    expect(index.chunks.map((chunk) => chunk.crc32)).toEqual([crc32(record), crc32(record)]);
  });

  test('weights and groups are no part of labels and features', async () => {
    write('weighted.txt', '3:0.5 qid:99 1:1\n-1:2 qid:99\n0 qid:98\n');
    const { labelBound, featureBound, traits } = await build('weighted.txt');
    expect({ labelBound, featureBound }).toEqual({ labelBound: 4, featureBound: '2' });
    expect(traits).toMatchObject({ withoutFeatures: [], hasZero: true, hasMinusOne: true, hasOther: true });
    write('groups.txt', '1 qid:1\n0 qid:2\n');
    expect((await build('groups.txt')).traits.withoutFeatures).toEqual(['groups.txt']);
  });

  test('labels give the number of classes', async () => {
    write('classes.txt', '0 1:1\n6 1:1\n2.5 1:1\n-9 1:1\n');
    expect((await build('classes.txt')).labelBound).toBe(7);
  });

  test.each([2n ** 53n - 2n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n + 1n, 2n ** 64n - 2n, 2n ** 64n - 1n])(
    'the feature bound of id %d is exact, and labels of any size have a bound that is one',
    async (id) => {
      write('ids.txt', `1600000000000000000 ${id - 1n}:1 ${id}:1 3:1\n1e300 18446744073709551616:1\n`);
      const { featureBound, labelBound } = await build('ids.txt');
      expect({ featureBound, labelBound }).toEqual({
        featureBound: String(id + 1n),
        labelBound: Number.MAX_SAFE_INTEGER,
      });
    },
  );

  test('the digest follows from names and content, not from times or compression', async () => {
    const content = '1 1:1\n0 2:1\n';
    write('d.txt', content);
    const { digest } = await build('d.txt');
    utimesSync(join(place.folder, 'd.txt'), 1, 1);
    expect((await build('d.txt')).digest).toBe(digest);
    write('d.txt', gzipSync(content));
    expect((await build('d.txt')).digest).toBe(digest);
    write('d.txt', content.replace('2:1', '2:2'));
    expect((await build('d.txt')).digest).not.toBe(digest);
    write('d.txt', content);
    expect((await build('d.txt', 1)).digest).not.toBe(digest);
  });

  test.skipIf(isRealDataMissing)('a9a', async () => {
    const real = testPlace({ folder: REAL_DATA });
    const index = await buildIndex(real, { what: 'a9a/a9a.gz', format: 'libsvm', recordsPerTask: 1000 });
    expect(index).toMatchObject({ records: 32561, featureBound: '124', labelBound: 2 });
    expect(cutTasks(index, 1000).length).toBe(33);
    const test = await buildIndex(real, { what: ['a9a/a9a.t.gz'], format: 'libsvm', recordsPerTask: 4 });
    const reader = createTaskReader(real, {
      format: 'libsvm',
      files: test.files,
      labels: { task: 'binary' },
      inputWidth: 0,
      batchSize: 4,
    });
    const second = await reader.read(cutTasks(test, 4)[1]!);
    const batch = second.batch(0, 1);
    await reader.close();
    expect(second.describe(0, 1)).toBe('a9a/a9a.t.gz, line 5');
    expect(batch.sparse[0]!.values?.length).toBe(13);
    expect(batch.sparse[0]!.values?.at(-1)).toBe(0);
    const raw = gunzipSync(readFileSync(join(REAL_DATA, 'a9a/a9a.t.gz')));
    expect(test.files[0]?.bytes).toBe(raw.length);
  });
});
