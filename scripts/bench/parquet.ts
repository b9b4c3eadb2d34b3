/**
 * Columns of a Parquet file, decoded and made numbers and ids of, beside a scan of DuckDB on one thread that has to
 * decode the same; in processor time. Run: `npx node scripts/bench/parquet.ts [RECORDS]`, or `npm run bench -- data`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { type Content, openContent } from '../../src/data/bytes/content.ts';
import type { Column, ColumnSpec } from '../../src/data/columns/column.ts';
import type { ColumnPiece } from '../../src/data/columns/piece.ts';
import { readColumn } from '../../src/data/formats/parquet/column.ts';
import { leafNamed, readFooter } from '../../src/data/formats/parquet/footer.ts';
import { readParquet } from '../../src/data/formats/parquet/reader.ts';
import type { PieceSink } from '../../src/data/piece.ts';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import { createHost } from '../../src/host/host.ts';
import { timed } from './data.ts';
import { type Figure, median, printFigures } from './figure.ts';

const ROUNDS = 9;
const RECORDS = 1_000_000;
/** As DuckDB's own files have. */
const ROW_GROUP = 122_880;
const FEW = 16;
const FILE = 'a.parquet';
const AIM = 0.3;

const COLUMNS = [
  { what: '64-bit integers', name: 'i', scan: 'sum(i)', as: { name: 'i', type: 'category', ids: 'hash' } },
  {
    ...{ what: 'floats', name: 'f', scan: 'sum(f)' },
    as: { name: 'f', type: 'number', normalize: 'standard', missing: 'mean' },
  },
  { what: 'few texts', name: 'few', scan: 'bit_xor(hash(few))', as: { name: 'few', type: 'category', ids: 'hash' } },
  {
    what: 'many texts',
    name: 'many',
    scan: 'bit_xor(hash(many))',
    as: { name: 'many', type: 'category', ids: 'hash' },
  },
] as const satisfies readonly { what: string; name: string; scan: string; as: Column }[];

/** Takes the columns and does nothing with them. */
const NOTHING: PieceSink<ColumnPiece> = { quota: 4096, badRecords: 0, add: () => {}, bad: () => {} };

/** The part of `@duckdb/node-api` that is used. */
interface DuckDb {
  readonly DuckDBInstance: { create(): Promise<{ connect(): Promise<{ run(sql: string): Promise<unknown> }> }> };
}

type Scan = (expressions: readonly string[]) => Promise<unknown>;

/** Undefined when it cannot be fetched. */
async function duckDbScan(path: string): Promise<Scan | undefined> {
  let folder: string;
  try {
    folder = execFileSync(fileURLToPath(new URL('../fetch-duckdb.sh', import.meta.url)), { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
  const entry = pathToFileURL(join(folder, 'node_modules/@duckdb/node-api/lib/index.js'));
  const { DuckDBInstance }: DuckDb = await import(entry.href);
  const connection = await (await DuckDBInstance.create()).connect();
  await connection.run('SET threads = 1');
  return (expressions) => connection.run(`SELECT ${expressions.join(', ')} FROM read_parquet('${path}')`);
}

function makeFile(path: string, records: number): void {
  const random = createRandomStream(17);
  const whole = (): number => Math.floor(2 ** 32 * random.uniform());
  const rows = <T>(value: () => T): T[] => Array.from({ length: records }, value);
  const columnData = [
    { name: 'i', data: BigInt64Array.from({ length: records }, () => BigInt(whole()) * 2n ** 30n + BigInt(whole())) },
    { name: 'f', data: Float64Array.from({ length: records }, () => random.normal()) },
    { name: 'few', data: rows(() => `category ${whole() % FEW}`) },
    { name: 'many', data: rows(() => `user-${whole()}`) },
  ];
  const written = parquetWriteBuffer({ columnData, codec: 'UNCOMPRESSED', rowGroupSize: ROW_GROUP });
  writeFileSync(path, new Uint8Array(written));
}

async function decode({ path, bytes, file }: Content, names: readonly string[]): Promise<void> {
  const read = async (offset: number, count: number): Promise<Uint8Array> => {
    const room = new Uint8Array(count);
    return room.subarray(0, await file.read(room, offset));
  };
  const footer = await readFooter(path, bytes, read);
  for (const group of footer.groups.keys()) {
    for (const name of names) await readColumn(footer, group, leafNamed(footer, name), read);
  }
}

function toColumns(content: Content, columns: readonly Column[]): Promise<unknown> {
  const dialect = { header: true, delimiter: ',', quote: '"', missing: [''], decimal: '.' } as const;
  const spec: ColumnSpec = { columns, dialect };
  return readParquet(content, { columns: spec, labels: { task: 'binary' }, onBytes: () => {} }, NOTHING);
}

export async function measureParquet(records = RECORDS): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-parquet-'));
  const host = createHost({ logLevel: 'warn', logFormat: 'text' });
  const place = { host, folder, cacheFolder: join(folder, 'cache') };
  const path = join(folder, FILE);
  try {
    makeFile(path, records);
    const content = await openContent(place, FILE, true);
    const scan = await duckDbScan(path);
    const sets = [...COLUMNS.map((column) => [column]), COLUMNS];
    const figures: Figure[] = [];
    for (const columns of sets) figures.push(...(await measureSet(content, columns, scan, records)));
    await content.file.close();
    return figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureSet(
  content: Content,
  columns: readonly (typeof COLUMNS)[number][],
  scan: Scan | undefined,
  records: number,
): Promise<Figure[]> {
  const times: Record<'scan' | 'decode' | 'columns', number[]> = { scan: [], decode: [], columns: [] };
  // The first one makes all that is made once.
  for (let round = -1; round < ROUNDS; round++) {
    if (scan !== undefined) times.scan.push(await timed(() => scan(columns.map((column) => column.scan))));
    times.decode.push(
      await timed(() =>
        decode(
          content,
          columns.map(({ name }) => name),
        ),
      ),
    );
    times.columns.push(
      await timed(() =>
        toColumns(
          content,
          columns.map(({ as }) => as),
        ),
      ),
    );
  }
  for (const own of Object.values(times)) own.shift();
  const isAll = columns.length > 1;
  const what = `parquet, ${isAll ? 'all of these' : columns[0]!.what}`;
  const without = scan === undefined ? ' (DuckDB could not be fetched)' : '';
  const perMs = columns.length * records;
  const figure = (name: 'decode' | 'columns') => ({
    unit: 'k values/s',
    value: perMs / median(times[name]),
    bestValue: perMs / Math.min(...times[name]),
    ...(scan !== undefined && {
      best: Math.min(...times.scan) / Math.min(...times[name]),
      limit: { what: 'scanned by DuckDB', value: perMs / median(times.scan) },
      ratio: median(times[name].map((ms, round) => times.scan[round]! / ms)),
    }),
    ...(isAll && scan !== undefined && { aim: { of: 'ratio', bound: AIM, best: 'high' } as const }),
  });
  return [
    { what: `${what}: decoded${without}`, ...figure('decode') },
    { what: `  ${what}: to columns${without}`, ...figure('columns') },
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  printFigures(await measureParquet(process.argv[2] === undefined ? RECORDS : Number(process.argv[2])));
}
