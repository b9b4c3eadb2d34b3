/** Random histories of pushes, pulls, moves, removals and refusals, against rows in a Map. */

import { describe, expect, it } from 'vitest';
import { type OptimizerSpec, optimizerLayout } from '../../src/tensor/optimizer.ts';
import { type Parameters, SHARD_ACTION } from '../../src/tensor/parameters.ts';
import { shardOfRow } from '../../src/tensor/shard-hash.ts';
import type { Initializer } from '../../src/tensor/spec.ts';
import * as fc from '../properties.ts';
import { bits, HIGHEST, idBytes, makeParameters, pullRows, rowsPart } from './fixture.ts';
import { anyFloat, OPTIMIZERS } from './optimizers.ts';
import { freshState, initialValue, type State, updateReference } from './reference.ts';

const SHARDS = 4;
const TABLES: readonly { name: string; width: number; initializer: Initializer; hasSeen?: boolean }[] = [
  { name: 'narrow', width: 1, initializer: { type: 'uniform', low: -1, high: 1 } },
  { name: 'odd', width: 6, initializer: { type: 'normal', mean: 0, stddev: 0.5 } },
  { name: 'seen', width: 3, initializer: { type: 'normal', mean: 0, stddev: 0.5 }, hasSeen: true },
];
const SEEN = 2;

interface PlainRow {
  readonly id: bigint;
  readonly shard: number;
  readonly state: State;
  seen: number;
}

/** What `Parameters` should be, said as plainly as can be. */
class PlainTables {
  readonly shards = new Set<number>();
  readonly #rows = new Map<string, PlainRow>();
  readonly #optimizer: OptimizerSpec;

  constructor(optimizer: OptimizerSpec) {
    this.#optimizer = optimizer;
  }

  #first(table: number, id: bigint): Float32Array {
    const { name, width, initializer } = TABLES[table]!;
    const place = { name, seed: 9, shape: [1, width], id };
    return Float32Array.from({ length: width }, (_, element) => initialValue(initializer, { ...place, element }));
  }

  value(table: number, id: bigint): Float32Array {
    return this.#rows.get(`${table} ${id}`)?.state.values ?? this.#first(table, id);
  }

  push(table: number, id: bigint, gradient: Float32Array, seen: number): void {
    const key = `${table} ${id}`;
    let row = this.#rows.get(key);
    if (row === undefined) {
      const shard = shardOfRow(TABLES[table]!.name, id, SHARDS);
      row = { id, shard, state: freshState(this.#optimizer, this.#first(table, id)), seen };
      this.#rows.set(key, row);
    }
    updateReference(this.#optimizer, row.state, gradient);
    row.seen = seen;
  }

  remove(table: number, id: bigint): boolean {
    return this.#rows.delete(`${table} ${id}`);
  }

  drop(shard: number): void {
    for (const [key, row] of this.#rows) if (row.shard === shard) this.#rows.delete(key);
  }

  rowsOf(table: number, shard: number): PlainRow[] {
    const mine = [...this.#rows].filter(([key, row]) => key.startsWith(`${table} `) && row.shard === shard);
    return mine.map(([, row]) => row).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  get size(): number {
    return this.#rows.size;
  }
}

const anyId = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 60 }).map(BigInt) },
  { weight: 1, arbitrary: fc.constantFrom(HIGHEST, 2n ** 63n, 2n ** 63n - 1n) },
  { weight: 2, arbitrary: fc.bigInt({ min: 0n, max: HIGHEST }) },
);
const anyTable = fc.nat({ max: TABLES.length - 1 });
const anyIds = fc.uniqueArray(anyId, { maxLength: 40 });
const anyShard = fc.nat({ max: SHARDS - 1 });

const anyEvent = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('push' as const),
      table: anyTable,
      ids: anyIds,
      floats: fc.array(anyFloat, { minLength: 7, maxLength: 7 }),
      skip: fc.array(anyShard, { maxLength: 2 }),
      spoil: fc.boolean(),
      seen: fc.nat({ max: 100 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('remove' as const), ids: anyIds, shard: anyShard }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('lower' as const), shard: anyShard, by: fc.nat({ max: 60 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pull' as const), table: anyTable, ids: anyIds }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('toggle' as const), shard: anyShard }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('move' as const), shard: anyShard }) },
);
type Event = typeof anyEvent extends fc.Arbitrary<infer T> ? T : never;

class Scene {
  readonly optimizer: OptimizerSpec;
  readonly plain: PlainTables;
  parameters: Parameters;

  constructor(optimizer: OptimizerSpec) {
    this.optimizer = optimizer;
    this.plain = new PlainTables(optimizer);
    this.parameters = this.fresh();
    for (const shard of [0, 1, 2]) this.toggle(shard);
  }

  fresh(): Parameters {
    return makeParameters({
      spec: { dense: [], sparse: TABLES },
      optimizer: this.optimizer,
      seed: 9,
      shards: SHARDS,
      present: [],
    });
  }

  toggle(shard: number): void {
    if (this.plain.shards.delete(shard)) {
      this.plain.drop(shard);
      this.parameters.dropShard(shard);
    } else {
      this.plain.shards.add(shard);
      this.parameters.addShard(shard);
    }
  }

  /** All shards into new memory, `last` last. */
  move(last: number): void {
    const target = this.fresh();
    for (const shard of [...this.plain.shards].sort((a, b) => Number(a === last) - Number(b === last))) {
      target.addShard(shard);
      TABLES.forEach((_, table) => {
        target.importRows(shard, table, this.parameters.exportRows(shard, table));
      });
    }
    this.parameters = target;
  }

  push({ table, ids, floats, skip, spoil, seen }: Extract<Event, { kind: 'push' }>): void {
    const { name, width } = TABLES[table]!;
    const gradients = Float32Array.from({ length: ids.length * width }, (_, i) => floats[i % 7]!);
    if (spoil && gradients.length > 0) gradients[gradients.length - 1] = Number.NaN;
    const actions = Uint8Array.from({ length: SHARDS }, (_, shard) =>
      skip.includes(shard)
        ? SHARD_ACTION.skip
        : this.plain.shards.has(shard)
          ? SHARD_ACTION.apply
          : SHARD_ACTION.absent,
    );
    const shardOf = (id: bigint): number => shardOfRow(name, id, SHARDS);
    const spoiled = spoil && gradients.length > 0;
    const refused = spoiled
      ? 'BadGradient'
      : ids.some((id) => actions[shardOf(id)] === SHARD_ACTION.absent)
        ? 'WrongShard'
        : undefined;
    // Shards have had different numbers of updates.
    const seenBy = Uint32Array.from({ length: SHARDS }, (_, shard) => seen + 7 * shard);
    const push = (): void => this.parameters.push([rowsPart(table, ids, gradients)], [], actions, { seen: seenBy });
    if (refused !== undefined) {
      expect(push).toThrowError(expect.objectContaining({ code: refused }));
      return;
    }
    push();
    ids.forEach((id, i) => {
      if (actions[shardOf(id)] === SHARD_ACTION.apply) {
        this.plain.push(table, id, gradients.subarray(i * width, (i + 1) * width), seenBy[shardOf(id)]!);
      }
    });
  }

  remove({ ids, shard }: Extract<Event, { kind: 'remove' }>): void {
    if (!this.plain.shards.has(shard)) return;
    const own = ids.filter((id) => shardOfRow(TABLES[SEEN]!.name, id, SHARDS) === shard);
    const removed = own.filter((id) => this.plain.remove(SEEN, id)).length;
    expect(this.parameters.removeIds(shard, SEEN, BigUint64Array.from(own))).toBe(removed);
  }

  lower({ shard, by }: Extract<Event, { kind: 'lower' }>): void {
    if (!this.plain.shards.has(shard)) return;
    this.parameters.lowerSeen(shard, by);
    for (const row of this.plain.rowsOf(SEEN, shard)) row.seen = Math.max(0, row.seen - by);
    const unseen = this.plain.rowsOf(SEEN, shard).filter(({ seen }) => seen <= 10);
    for (const { id } of unseen) this.plain.remove(SEEN, id);
    expect(this.parameters.removeUnseen(shard, SEEN, 10)).toEqual({ rows: unseen.length, candidates: 0 });
  }

  pull({ table, ids }: Extract<Event, { kind: 'pull' }>): void {
    const { name, width } = TABLES[table]!;
    if (ids.some((id) => !this.plain.shards.has(shardOfRow(name, id, SHARDS)))) {
      expect(() =>
        this.parameters.pullSparse(table, idBytes(ids), new Uint8Array(4 * width * ids.length)),
      ).toThrowError(expect.objectContaining({ code: 'WrongShard' }));
      return;
    }
    const expected = ids.flatMap((id) => [...this.plain.value(table, id)]);
    expect(bits(pullRows(this.parameters, table, ids, width))).toEqual(bits(expected));
  }

  run(event: Event): void {
    switch (event.kind) {
      case 'push':
        this.push(event);
        break;
      case 'pull':
        this.pull(event);
        break;
      case 'toggle':
        this.toggle(event.shard);
        break;
      case 'remove':
        this.remove(event);
        break;
      case 'lower':
        this.lower(event);
        break;
      case 'move':
        this.move(event.shard);
    }
  }

  compare(): void {
    expect(this.parameters.shards()).toEqual([...this.plain.shards].sort());
    expect(this.parameters.stats().rows).toBe(this.plain.size);
    for (const shard of this.plain.shards) {
      TABLES.forEach((_, table) => {
        const rows = this.parameters.exportRows(shard, table);
        const plain = this.plain.rowsOf(table, shard);
        expect([...rows.ids]).toEqual(plain.map(({ id }) => id));
        expect(bits(rows.values)).toEqual(bits(plain.flatMap(({ state }) => [...state.values])));
        optimizerLayout(this.optimizer).slots.forEach((slot, i) => {
          expect(bits(rows.slots[slot]!)).toEqual(bits(plain.flatMap(({ state }) => [...state.slots[i]!])));
        });
        if (rows.steps !== undefined) expect([...rows.steps]).toEqual(plain.map(({ state }) => state.step));
        if (table !== SEEN) return;
        expect([...rows.seen!]).toEqual(plain.map(({ seen }) => seen));
      });
    }
  }
}

describe('parameters', () => {
  it('are what a Map of rows would be, through any history', () => {
    fc.assert(
      fc.property(fc.constantFrom(...OPTIMIZERS), fc.array(anyEvent, { maxLength: 25 }), (optimizer, events) => {
        const scene = new Scene(optimizer);
        for (const event of events) scene.run(event);
        scene.compare();
      }),
      { numRuns: 300 },
    );
  });
});
