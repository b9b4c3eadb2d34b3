/**
 * One sparse table alone at 10 M rows, without a socket: insertion, lookup, update, bytes a row, beside a hash table in
 * C. Ids come as they come from trainers, a million at a time and grouped by shard (the router does that, and is a line
 * of its own); the same in any order. Run: `npx node scripts/bench/table.ts`, or `npm run bench`.
 */
import { fileURLToPath } from 'node:url';
import { createIdRouter } from '../../src/tensor/id-router.ts';
import { type Parameters, SHARD_ACTION } from '../../src/tensor/parameters.ts';
import { createParameters } from '../../src/tensor/wasm-parameters.ts';
import { type Figure, median, printFigures } from './figure.ts';
import { shuffledIds } from './made-ids.ts';
import { startNative } from './native.ts';

const SHARDS = 512;
const WIDTH = 16;
const ROWS = 10_000_000;
const BATCH = 1_000_000;
const INSERT_ROUNDS = 3;
const ROUNDS = 3;

interface Table {
  readonly parameters: Parameters;
  push(ids: Uint8Array): void;
  pull(ids: Uint8Array): void;
}

const SGD = { type: 'sgd', learningRate: 0.01, l2: 0 } as const;

function makeTable(): Table {
  const parameters = createParameters({
    spec: { dense: [], sparse: [{ name: 'rows', width: WIDTH, initializer: { type: 'zeros' }, optimizer: SGD }] },
    seed: 1,
    shards: SHARDS,
  });
  for (let shard = 0; shard < SHARDS; shard++) parameters.addShard(shard);
  const actions = new Uint8Array(SHARDS).fill(SHARD_ACTION.apply);
  const idsIn = parameters.stage(8 * BATCH);
  const floats = parameters.stage(4 * WIDTH * BATCH);
  const bytes = floats.bytes();
  new Float32Array(bytes.buffer, bytes.byteOffset, WIDTH * BATCH).fill(0.5);
  floats.arrived(bytes.length);
  return {
    parameters,
    push(ids) {
      idsIn.bytes().set(ids);
      parameters.push([{ table: 0, ids: idsIn.bytes(), gradients: floats.bytes() }], [], actions);
    },
    pull(ids) {
      idsIn.bytes().set(ids);
      parameters.pullSparse(0, idsIn.bytes(), floats.bytes());
    },
  };
}

/** Milliseconds. */
function timed(run: () => void): number {
  const startMs = performance.now();
  run();
  return performance.now() - startMs;
}

const millions = (ms: number): number => ROWS / ms / 1000;

export async function measureTable(): Promise<Figure[]> {
  const native = startNative({ floats: 1, rows: ROWS, batch: BATCH });
  const nativeMs = async (op: string): Promise<number | undefined> => {
    if (native === undefined) return undefined;
    let sum = 0;
    for (let from = 0; from < ROWS; from += BATCH) sum += await native.run(op);
    return sum;
  };
  const ids = shuffledIds(ROWS);
  const random: Uint8Array[] = [];
  for (let from = 0; from < ROWS; from += BATCH) random.push(ids.subarray(8 * from, 8 * (from + BATCH)));
  const router = createIdRouter({ shards: SHARDS });
  const one = new Int32Array(SHARDS);
  const route = (some: Uint8Array): Uint8Array => router.route('rows', some, BATCH, one)[0]!.ids;
  route(random[0]!);
  const routing: number[] = [];
  const grouped: Uint8Array[] = [];
  for (const some of random) {
    routing.push((ROWS / BATCH) * timed(() => void grouped.push(route(some))));
  }
  const times = new Map<string, { ours: number[]; theirs: number[] }>();
  const note = async (what: string, ms: number, op?: string): Promise<void> => {
    const entry = times.get(what) ?? { ours: [], theirs: [] };
    times.set(what, entry);
    entry.ours.push(ms);
    const other = op === undefined ? undefined : await nativeMs(op);
    if (other !== undefined) entry.theirs.push(other);
  };
  const sweep = (some: readonly Uint8Array[], run: (ids: Uint8Array) => void): number =>
    timed(() => {
      for (const batch of some) run(batch);
    });
  // Until the compilers have seen it.
  const warm = makeTable();
  for (const batch of grouped.slice(0, 2)) warm.push(batch);
  let table = makeTable();
  for (let round = 0; round < INSERT_ROUNDS; round++) {
    table = makeTable();
    const { push } = table;
    await note('insert+SGD', sweep(grouped, push), 'insert');
  }
  for (let round = 0; round < ROUNDS; round++) {
    await note('update by SGD', sweep(grouped, table.push), 'push');
    await note('  in any order', sweep(random, table.push));
    await note('look up', sweep(grouped, table.pull), 'pull');
    await note('  in any order ', sweep(random, table.pull));
  }
  native?.close();
  const aims: Readonly<Record<string, number>> = { 'insert+SGD': 10, 'update by SGD': 10, 'look up': 10 };
  const figures = [...times].map(([what, { ours, theirs }]): Figure => {
    const bound = aims[what];
    const isIndented = what.startsWith(' ');
    const figure: Figure = {
      what: isIndented ? what.trimEnd() : `table of 10 M rows × ${WIDTH}, ${what}`,
      value: millions(median(ours)),
      unit: 'M rows/s',
      bestValue: millions(Math.min(...ours)),
      ...(bound === undefined ? {} : { aim: { of: 'value', bound, best: 'high' } }),
    };
    if (theirs.length === 0) return figure;
    const limit = { what: 'native C', value: millions(median(theirs)) };
    return { ...figure, limit, ratio: median(ours.map((ms, i) => theirs[i]! / ms)) };
  });
  const { bytes } = table.parameters.stats();
  figures.push({
    what: '  bytes a row (64 are values)',
    value: bytes / ROWS,
    unit: 'bytes',
    aim: { of: 'value', bound: 110, best: 'low' },
  });
  figures.push({
    what: '  ids routed and grouped, on the trainer',
    value: millions(median(routing)),
    bestValue: millions(Math.min(...routing)),
    unit: 'M ids/s',
  });
  return figures;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printFigures(await measureTable());
