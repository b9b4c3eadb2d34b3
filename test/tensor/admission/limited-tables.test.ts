/** Tables with admission and bounds do, through any history, what the reference of docs/decisions/0168 does. */
import { describe, expect, it } from 'vitest';
import type { AdmissionRules } from '../../../src/tensor/admission/admission.ts';
import { noTableCounts } from '../../../src/tensor/admission/table-counts.ts';
import { type Parameters, type PushOptions, SHARD_ACTION } from '../../../src/tensor/parameters.ts';
import { shardOfRow } from '../../../src/tensor/shard-hash.ts';
import { createParameters } from '../../../src/tensor/wasm-parameters.ts';
import type { UpdateName } from '../../endless/rules.ts';
import { Shard } from '../../endless/shard.ts';
import * as fc from '../../properties.ts';
import { applyAll, bits, everything, HIGHEST, makeParameters, NORMAL, pullRows, rowsPart } from '../fixture.ts';
import { candidatesOf, ROW_BYTES, rulesOf, SEED, type TriedTable, trainedTables } from './kernel-job.ts';

const SHARDS = 3;
/** Of a shard: 12 rows, or fewer with candidates. */
const BOUND = 12 * ROW_BYTES;

const TABLES: readonly TriedTable[] = [
  { name: 'plain', hasSeen: false },
  { name: 'bound', shardBytes: BOUND, hasSeen: true },
  { name: 'count', admission: { type: 'count', min: 3 }, hasSeen: false },
  { name: 'count, seen', admission: { type: 'count', min: 2 }, hasSeen: true },
  { name: 'count, bound', admission: { type: 'count', min: 3 }, shardBytes: BOUND, hasSeen: true },
  { name: 'draw', admission: { type: 'probability', p: 0.3 }, hasSeen: false },
  { name: 'draw, bound', admission: { type: 'probability', p: 0.7 }, shardBytes: BOUND, hasSeen: true },
];

const STORED = candidatesOf(TABLES, TABLES.length);
const RULES = rulesOf(TABLES, { shards: SHARDS, tasks: 1, seenLimit: 2 ** 32, spread: 64 });

function fresh(recallsPulls = true): Parameters {
  const spec = { dense: [], sparse: trainedTables(TABLES) };
  const parameters = createParameters({ spec, seed: SEED, shards: SHARDS, recallsPulls });
  for (let shard = 0; shard < SHARDS; shard++) parameters.addShard(shard);
  return parameters;
}

interface TableGradients {
  readonly table: number;
  readonly ids: readonly bigint[];
  readonly gradient: number;
}

const anyId = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 70 }).map(BigInt) },
  { weight: 1, arbitrary: fc.constantFrom(HIGHEST, 2n ** 63n, 2n ** 63n - 1n) },
);
/** Tables; those with more rules more often. */
const CHOSEN = [0, 1, 1, 2, 3, 4, 4, 4, 5, 6];
const anyShard = fc.nat({ max: SHARDS - 1 });
const anyGradients: fc.Arbitrary<TableGradients> = fc.record({
  table: fc.constantFrom(...CHOSEN),
  ids: fc.oneof(
    { weight: 4, arbitrary: fc.uniqueArray(anyId, { maxLength: 12 }) },
    // More than a bound has room for.
    { weight: 1, arbitrary: fc.uniqueArray(anyId, { maxLength: 60 }) },
  ),
  gradient: fc.integer({ min: -3, max: 3 }),
});

const anyEvent = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('push' as const),
      parts: fc.uniqueArray(anyGradients, { selector: ({ table }) => table, maxLength: 4 }),
      skip: fc.oneof(fc.constant<number[]>([]), fc.array(anyShard, { maxLength: 1 })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('forget' as const),
      table: fc.constantFrom(...TABLES.flatMap(({ hasSeen }, table) => (hasSeen ? [table] : []))),
      shard: anyShard,
      unseen: fc.nat({ max: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('move' as const) }) },
);
type Event = typeof anyEvent extends fc.Arbitrary<infer T> ? T : never;

class Scene {
  readonly shards = Array.from({ length: SHARDS }, (_, shard) => new Shard(RULES, shard));
  parameters = fresh();
  #pushes = 0;
  /** What the kernel and the reference have done with the ids of each table. */
  readonly counts = TABLES.map(noTableCounts);
  readonly expected = TABLES.map(noTableCounts);

  constructor() {
    for (const one of this.shards) {
      let isRow = false;
      one.observer = {
        changing(table, id) {
          isRow = one.state.tables[table]!.rows.has(id);
        },
        changingBlock() {},
        gone: (table, _, cause) => void this.expected[table]!.evicted[cause][isRow ? 'rows' : 'candidates']++,
        refused: (table) => void this.expected[table]!.refused++,
      };
    }
  }

  run(event: Event): void {
    if (event.kind === 'push') this.push(event);
    else if (event.kind === 'move') this.move();
    else this.forget(event);
  }

  push({ parts, skip }: Extract<Event, { kind: 'push' }>): void {
    const position = { pass: 3, task: 0, push: this.#pushes++, last: false };
    const actions = Uint8Array.from({ length: SHARDS }, (_, shard) =>
      skip.includes(shard) ? SHARD_ACTION.skip : SHARD_ACTION.apply,
    );
    const seen = Uint32Array.from(this.shards, ({ state }) => state.seq + 1);
    const sparse = parts.map(({ table, ids, gradient }) =>
      rowsPart(
        table,
        ids,
        ids.map(() => gradient),
      ),
    );
    const options = { seen, name: position, counts: this.counts };
    if (skip.length > 0) {
      this.parameters.push(sparse, [], actions, options);
    } else {
      const before = parts.flatMap(({ table, ids }) => ids.map((id) => this.valueOf(table, id)));
      const old = this.parameters.pushKeeping(sparse, [], actions, options);
      const values = old.sparse.flatMap((bytes) => [...new Float32Array(bytes.buffer)]);
      expect(bits(values)).toEqual(bits(before));
    }
    for (const shard of this.shards) {
      if (skip.includes(shard.number)) continue;
      const refusedBefore = this.expected.map(({ refused }) => refused);
      const tables = TABLES.map(({ name }, table) => {
        const part = parts.find((one) => one.table === table);
        const own = part?.ids.filter((id) => shardOfRow(name, id, SHARDS) === shard.number) ?? [];
        return new Map(own.map((id) => [id, part!.gradient]));
      });
      const without = tables.map((named, table) => [...named.keys()].filter((id) => !this.#hasRow(shard, table, id)));
      shard.apply({ type: 'push', position, tables, blocks: new Map() });
      without.forEach((ids, table) => {
        const expected = this.expected[table]!;
        expected.updated += tables[table]!.size - ids.length;
        const admitted = ids.filter((id) => this.#hasRow(shard, table, id)).length;
        expected.admitted += admitted;
        expected.notAdmitted += ids.length - admitted - (expected.refused - refusedBefore[table]!);
      });
    }
  }

  #hasRow = ({ state }: Shard, table: number, id: bigint): boolean => state.tables[table]!.rows.has(id);

  valueOf(table: number, id: bigint): number {
    const { state } = this.shards[shardOfRow(TABLES[table]!.name, id, SHARDS)]!;
    return (state.tables[table]!.rows.get(id)?.values ?? RULES.arithmetic.initialRow(table, id))[0]!;
  }

  forget({ table, shard, unseen }: Extract<Event, { kind: 'forget' }>): void {
    const { state } = this.shards[shard]!;
    const threshold = state.seq - unseen;
    if (threshold < 0) return;
    const removed = { rows: 0, candidates: 0 };
    for (const kind of ['rows', 'candidates'] as const) {
      const all = state.tables[table]![kind];
      for (const [id, { seen }] of all) if (seen <= threshold && all.delete(id)) removed[kind]++;
    }
    expect(this.parameters.removeUnseen(shard, table, threshold)).toEqual(removed);
  }

  /** All shards into new memory. */
  move(): void {
    const target = fresh();
    for (let shard = 0; shard < SHARDS; shard++)
      for (let table = 0; table < STORED; table++)
        target.importRows(shard, table, this.parameters.exportRows(shard, table));
    this.parameters = target;
  }

  compare(): void {
    for (const { number: shard, state } of this.shards) {
      expect(this.counts).toEqual(this.expected);
      TABLES.forEach(({ admission, hasSeen }, table) => {
        const { rows, candidates } = state.tables[table]!;
        const bytes = rows.size * (hasSeen ? ROW_BYTES : ROW_BYTES - 4) + candidates.size * 16;
        const use = { rows: rows.size, candidates: candidates.size, bytes };
        expect(this.parameters.tableUse(shard, table)).toEqual(use);
        const found = this.parameters.exportRows(shard, table);
        const expected = sorted(rows);
        expect([...found.ids]).toEqual(expected.map(([id]) => id));
        expect(bits(found.values)).toEqual(bits(expected.map(([, { values }]) => values[0]!)));
        expect(bits(found.slots.velocity!)).toEqual(bits(expected.map(([, { values }]) => values[1]!)));
        if (hasSeen) expect([...found.seen!]).toEqual(expected.map(([, { seen }]) => seen));
        if (admission?.type !== 'count') return;
        const counted = this.parameters.exportRows(shard, candidatesOf(TABLES, table));
        expect([...counted.ids]).toEqual(sorted(candidates).map(([id]) => id));
        expect([...counted.steps!]).toEqual(sorted(candidates).map(([, { count }]) => count));
        expect([...counted.seen!]).toEqual(sorted(candidates).map(([, { seen }]) => seen));
      });
    }
  }
}

const sorted = <T>(all: ReadonlyMap<bigint, T>): [bigint, T][] => [...all].sort(([a], [b]) => (a < b ? -1 : 1));

const counts = { refused: 0, evicted: 0, candidatesEvicted: 0, notAdmitted: 0 };

it('tables with admission and bounds are what the reference is, through any history', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { minLength: 10, maxLength: 60 }), (events) => {
      const scene = new Scene();
      for (const event of events) {
        scene.run(event);
        scene.compare();
      }
      for (const { refused, evicted, notAdmitted } of scene.counts) {
        counts.refused += refused;
        counts.evicted += evicted.bound.rows;
        counts.candidatesEvicted += evicted.bound.candidates;
        counts.notAdmitted += notAdmitted;
      }
    }),
    { numRuns: 60 },
  );
  expect(Math.min(...Object.values(counts)), JSON.stringify(counts)).toBeGreaterThan(0);
});

/** Place of the candidates of the only table. */
const CANDIDATES = 1;
const WIDTH = 2;
const idsFrom = (first: number, count: number): bigint[] =>
  Array.from({ length: count }, (_, at) => BigInt(first + 3 * at));
const one = (rules: AdmissionRules & { readonly hasSeen?: boolean }, options = {}): Parameters => {
  const table = { name: 'rows', width: WIDTH, initializer: NORMAL, ...rules };
  return makeParameters({ spec: { dense: [], sparse: [table] }, shards: 1, ...options });
};
let seq = 0;
const push = (
  to: Parameters,
  ids: readonly bigint[],
  name: UpdateName = { round: seq },
  counts?: PushOptions['counts'],
): void => {
  const options = { seen: Uint32Array.of(++seq), name, counts };
  to.push([rowsPart(0, ids, new Float32Array(ids.length * WIDTH).fill(0.5))], [], applyAll(1), options);
};
const ADAM = { type: 'adam', learningRate: 0.1, beta1: 0.9, beta2: 0.9, epsilon: 1e-8, l2: 0 } as const;
/** The rows of ids 1 to 3, of 40 bytes each; candidates get rows at the third update. */
const withThreeRows = (shardBytes: number): Parameters => {
  const rules = { admission: { type: 'count', min: 3 }, shardBytes, hasSeen: true } as const;
  const parameters = one(rules, { optimizer: ADAM });
  for (const id of [1n, 2n, 3n]) for (let times = 0; times < 3; times++) push(parameters, [id]);
  return parameters;
};
const idsOf = (parameters: Parameters): bigint[][] =>
  [parameters.exportRows(0, 0), parameters.exportRows(0, CANDIDATES)].map(({ ids }) => [...ids]);
const COUNTS: AdmissionRules = { admission: { type: 'count', min: 2 } };
const ROWS_300 = { shardBytes: 300 * (8 + 4 * WIDTH + 4), hasSeen: true };

describe('a push', () => {
  it('finds rows where a pull has found them, unless they were evicted since', () => {
    const [recalls, searches] = [one(ROWS_300, { recallsPulls: true }), one(ROWS_300)];
    for (const parameters of [recalls, searches]) {
      seq = 0;
      push(parameters, idsFrom(0, 250));
      pullRows(parameters, 0, idsFrom(0, 600), WIDTH);
      push(parameters, idsFrom(1, 200));
      push(parameters, idsFrom(0, 600));
    }
    expect(everything(recalls, 1)).toEqual(everything(searches, 1));
    expect(recalls.stats().rows).toBe(300);
  });

  it('refuses the highest ids if it names too many: candidates stay candidates, and get their rows later', () => {
    const parameters = withThreeRows(4 * 40);
    for (let times = 0; times < 2; times++) push(parameters, [8n, 9n]);
    push(parameters, [1n, 2n, 3n, 8n, 9n]);
    expect(idsOf(parameters)).toEqual([
      [1n, 2n, 3n],
      [8n, 9n],
    ]);
    expect([...parameters.exportRows(0, CANDIDATES).steps!]).toEqual([2, 2]);
    push(parameters, [9n]);
    expect(idsOf(parameters)).toEqual([[2n, 3n, 9n], [8n]]);
  });

  it('refuses new candidates first because there are too many, then others because of their bytes', () => {
    const parameters = withThreeRows(3 * 40 + 30);
    push(parameters, [1n, 2n, 3n, 5n, 6n, 7n, 8n, 9n]);
    expect(idsOf(parameters)).toEqual([[1n, 2n, 3n], [5n]]);
  });

  it('that memory has no room for changes nothing, candidates neither', () => {
    const limits = { memoryLimitBytes: 2 ** 20, optimizer: ADAM };
    const parameters = one({ ...COUNTS, shardBytes: 2 ** 30, hasSeen: true }, limits);
    push(parameters, idsFrom(0, 1000));
    push(parameters, idsFrom(0, 500));
    push(parameters, idsFrom(1, 11_000));
    const state = (): unknown => [everything(parameters, 1), parameters.exportRows(0, CANDIDATES)];
    const before = state();
    const counts = noTableCounts();
    const tooMany = [...idsFrom(0, 1000), ...idsFrom(1, 11_000)];
    expect(() => push(parameters, tooMany, undefined, [counts])).toThrowError(/new rows of a push/);
    expect(state()).toEqual(before);
    expect(counts).toEqual(noTableCounts());
    push(parameters, idsFrom(0, 1000));
    expect(parameters.stats().rows).toBe(1000);
  });

  it('draws by its name and by nothing else', () => {
    const admitted = (name: UpdateName): string => {
      const parameters = one({ admission: { type: 'probability', p: 0.5 } });
      push(parameters, idsFrom(0, 32), name);
      return idsFrom(0, 32)
        .map((id) => (parameters.exportRows(0, 0).ids.includes(id) ? '1' : '0'))
        .join('');
    };
    // Vectors: who writes another implementation compares with them (docs/decisions/0168).
    expect(admitted({ pass: 0, task: 0, push: 0 })).toBe('11001000001111010101100001100010');
    expect(admitted({ pass: 1, task: 0, push: 0 })).toBe('11011010100000111111101101100110');
    expect(admitted({ pass: 0, task: 1, push: 0 })).toBe('01100001010000100101101101011110');
    expect(admitted({ pass: 0, task: 0, push: 1 })).toBe('01010110100100110111010001011100');
    expect(admitted({ round: 1 })).toBe('01100001010000100101101101011110');
  });

  it('says when its rows are seen, and its name', () => {
    const part = rowsPart(0, [1n], [1, 1]);
    expect(() => one(ROWS_300).push([part], [], applyAll(1), { name: { round: 0 } })).toThrow(/seen/);
    expect(() => one(COUNTS).push([part], [], applyAll(1))).toThrow(/name/);
  });
});

describe('candidates', () => {
  it('are of their shard: they come and go with it, and take memory', () => {
    const parameters = one(COUNTS);
    const { bytes } = parameters.stats();
    push(parameters, idsFrom(0, 1000));
    expect(parameters.stats()).toMatchObject({ rows: 0 });
    expect(parameters.stats().bytes - bytes).toBeGreaterThan(16 * 1000);
    parameters.dropShard(0);
    parameters.addShard(0);
    expect(parameters.stats().bytes).toBe(bytes);
    expect(parameters.exportRows(0, CANDIDATES).ids).toHaveLength(0);
  });

  it('are removed like rows, and age like them', () => {
    const parameters = one({ ...COUNTS, hasSeen: true });
    seq = 100;
    push(parameters, [1n, 2n, 3n]);
    push(parameters, [3n, 4n]);
    parameters.lowerSeen(0, 100);
    expect([...parameters.exportRows(0, CANDIDATES).seen!]).toEqual([1, 1, 2]);
    expect(parameters.removeIds(0, 0, BigUint64Array.of(1n, 3n, 9n))).toBe(2);
    expect([...parameters.exportRows(0, CANDIDATES).ids]).toEqual([2n, 4n]);
    expect(parameters.removeUnseen(0, 0, 1)).toEqual({ rows: 0, candidates: 1 });
    expect([...parameters.exportRows(0, CANDIDATES).ids]).toEqual([4n]);
  });
});
