import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { writeCheckpointFile } from '../../../src/checkpoint/file/write-durable-file.ts';
import { chooseVariables } from '../../../src/checkpoint/set/checkpoint-set.ts';
import { diffCheckpoints } from '../../../src/checkpoint/set/diff.ts';
import { digestSet, inspectCheckpoint } from '../../../src/checkpoint/set/inspect.ts';
import { mergeRows } from '../../../src/checkpoint/set/merge.ts';
import { createLedger } from '../../../src/core/shard/ledger.ts';
import { optimizerLayout } from '../../../src/tensor/optimizer.ts';
import type { ShardRows } from '../../../src/tensor/parameters.ts';
import { shardOfRow } from '../../../src/tensor/shard-hash.ts';
import * as fc from '../../properties.ts';
import { FOLDER, saveCluster, wholeParameters, withSet } from '../cluster-fixture.ts';
import { createFiles, emptyParameters, IDS, jobOf, ledgerOf, metaOf, uuidOf } from '../fixture.ts';

const u64s = fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 80 });
const ascending = (ids: readonly bigint[]): bigint[] => [...ids].sort((a, b) => (a < b ? -1 : 1));

describe('merging', () => {
  it('gives all rows of all shards in the order of unsigned ids, whatever the batches', async () => {
    await fc.assert(
      fc.asyncProperty(
        u64s,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 4000 }),
        async (ids, pservers, batchBytes) => {
          const disk = createFiles();
          const { refs, whole } = await saveCluster({ storage: disk.storage, pservers, ids, extentBytes: 700 });
          const merged: ShardRows[] = [];
          await withSet(disk.storage, refs, async ({ shards, facts }) => {
            const state = optimizerLayout(facts.parameters.sparse[0]!.optimizer);
            const rows = mergeRows({ shards, table: 0, width: 3, state: { ...state, seen: false }, batchBytes });
            for await (const batch of rows) merged.push(structuredClone(batch));
          });
          const expected = whole.readRows(0, BigUint64Array.from(ascending(ids)));
          expect(merged.flatMap((rows) => [...rows.ids])).toEqual([...expected.ids]);
          expect(merged.flatMap((rows) => [...rows.values])).toEqual([...expected.values]);
          expect(merged.flatMap((rows) => [...rows.slots.v!])).toEqual([...expected.slots.v!]);
          expect(merged.flatMap((rows) => [...rows.steps!])).toEqual([...expected.steps!]);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('digests of the model', () => {
  it('are the SHA-256 of values, and of state, in canonical order, for any number of pservers', async () => {
    const whole = wholeParameters(jobOf(), IDS, 1);
    const [model, state] = [createHash('sha256'), createHash('sha256')];
    const both = (text: string): void => void [model, state].map((hash) => hash.update(text));
    const bytes = (array: ArrayBufferView): Uint8Array =>
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    const inOrder = (slots: ShardRows['slots']): Float32Array[] =>
      Object.keys(slots)
        .sort()
        .map((slot) => slots[slot]!);
    for (const [parameter, name, shape, blocks] of [
      [1, 'layer/bias', '20000', 2],
      [0, 'w', '3x5', 1],
    ] as const) {
      both(`dense ${name} ${shape}\n`);
      for (let at = 0; at < blocks; at++) {
        const block = whole.readBlock(parameter, at);
        model.update(bytes(block.values));
        for (const part of [...inOrder(block.slots), Uint32Array.of(block.step ?? 0)]) state.update(bytes(part));
      }
    }
    for (const [table, name, width] of [
      [0, 'emb', 3],
      [1, 'emb/values.0', 1],
    ] as const) {
      both(`sparse ${name} ${width}\n`);
      for (const id of ascending(IDS)) {
        const row = whole.readRows(table, BigUint64Array.of(id));
        for (const part of [row.ids, row.values]) model.update(bytes(part));
        for (const part of [row.ids, ...inOrder(row.slots), ...(row.steps === undefined ? [] : [row.steps])]) {
          state.update(bytes(part));
        }
      }
    }
    const expected = { modelDigest: model.digest('hex'), stateDigest: state.digest('hex') };
    for (const pservers of [1, 3]) {
      const disk = createFiles();
      const { refs } = await saveCluster({ storage: disk.storage, pservers });
      expect(await withSet(disk.storage, refs, (set) => digestSet(set))).toEqual(expected);
    }
  });
});

describe('inspection', () => {
  it('counts and measures as a naive pass does, with NaN and infinities apart', async () => {
    const job = jobOf({
      parameters: { dense: [], sparse: [{ name: 'emb', width: 2, initializer: { type: 'zeros' } }] },
      optimizer: { type: 'sgd', learningRate: 1, l2: 0 },
    });
    const value = fc.oneof(
      { weight: 8, arbitrary: fc.float({ noNaN: true, noDefaultInfinity: true, min: -1000, max: 1000 }) },
      fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
    );
    const row = fc.tuple(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), value, value);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(row, { maxLength: 40, selector: ([id]) => id }), async (rows) => {
        const disk = createFiles();
        const parameters = emptyParameters(job);
        for (let shard = 0; shard < job.shards; shard++) parameters.addShard(shard);
        for (const [id, ...values] of rows) {
          const one = { ids: BigUint64Array.of(id), values: Float32Array.from(values), slots: {}, steps: undefined };
          parameters.importRows(shardOfRow('emb', id, job.shards), 0, one);
        }
        const momentOf = (shard: number) => ({ shard, epoch: 1, seq: 1, ledger: ledgerOf('x') });
        const meta = metaOf(job, { index: 0 });
        await writeCheckpointFile({
          storage: disk.storage,
          folder: FOLDER,
          meta,
          parameters,
          shards: parameters.shards(),
          momentOf,
        });
        const found = await withSet(disk.storage, [{ path: `${FOLDER}/0/${uuidOf(1)}` }], (set) =>
          inspectCheckpoint(set, { variables: chooseVariables(job.parameters, []), digests: false, top: 3 }),
        );
        const values = rows.flatMap(([, ...cells]) => cells);
        const finite = values.filter(Number.isFinite);
        const [table] = found.tables;
        expect(table).toMatchObject({
          rows: rows.length,
          count: values.length,
          nans: values.filter(Number.isNaN).length,
          infinities: values.filter((one) => Math.abs(one) === Number.POSITIVE_INFINITY).length,
          min: finite.length === 0 ? undefined : Math.min(...finite),
          max: finite.length === 0 ? undefined : Math.max(...finite),
        });
        expect(table!.norm).toBeCloseTo(Math.sqrt(finite.reduce((sum, one) => sum + one * one, 0)), 3);
        if (finite.length > 0) {
          expect(table!.mean).toBeCloseTo(finite.reduce((sum, one) => sum + one, 0) / finite.length, 3);
        }
        const norms = rows.map(([id, ...cells]) => {
          const squares = cells.filter(Number.isFinite).reduce((sum, one) => sum + one * one, 0);
          return { id, norm: Math.sqrt(squares) };
        });
        norms.sort((a, b) => b.norm - a.norm || (a.id < b.id ? -1 : 1));
        expect(table!.top.map(({ norm }) => norm)).toEqual(norms.slice(0, 3).map(({ norm }) => norm));
      }),
      { numRuns: 60 },
    );
  });

  it('tells how far the training had come, by the shard that has applied least', async () => {
    const ledgers = [2, 3].map((pushes) => {
      const ledger = createLedger(4);
      for (let task = 0; task < 4; task++) ledger.advance({ pass: 0, task, push: 0, last: true, good: 100 });
      for (let task = 0; task < pushes; task++) ledger.advance({ pass: 1, task, push: 0, last: true, good: 100 });
      return ledger.encode();
    });
    const disk = createFiles();
    const { refs } = await saveCluster({ storage: disk.storage, pservers: 2, ledger: (shard) => ledgers[shard % 2]! });
    const inspect = { variables: { dense: [], sparse: [] }, digests: false };
    const { positions } = await withSet(disk.storage, refs, (set) => inspectCheckpoint(set, inspect));
    expect(positions).toMatchObject({
      ledgers: 2,
      seq: [100, 107],
      progress: { tasks: 4, passes: 1, applied: 600, discarded: 0, open: [{ pass: 1, applied: 200, closed: 2 }] },
    });
  });

  it('takes of each shard the newest copy among several files', async () => {
    const disk = createFiles();
    const before = await saveCluster({ storage: disk.storage, pservers: 2, salt: 1 });
    const after = await saveCluster({
      storage: disk.storage,
      pservers: 1,
      salt: 2,
      names: 20,
      meta: { createdAt: 1_800_000_000 },
    });
    const set = await withSet(disk.storage, [...before.refs, ...after.refs], async (one) => one);
    expect(set.parts.map(({ path }) => path)).toEqual(after.refs.map(({ path }) => path));
  });

  it('refuses a pattern that matches nothing, naming what there is', () => {
    expect(() => chooseVariables(jobOf().parameters, ['emb', 'no*'])).toThrow(
      expect.objectContaining({ code: 'Usage', hint: 'there are w, layer/bias, emb, emb/values.0' }),
    );
    expect(chooseVariables(jobOf().parameters, ['emb*', '?'])).toEqual({ dense: [0], sparse: [0, 1] });
  });
});

describe('diff', () => {
  it('counts rows added, removed and changed, and measures the distance, as a naive one does', async () => {
    await fc.assert(
      fc.asyncProperty(u64s, u64s, u64s, fc.boolean(), async (both, removed, added, isChanged) => {
        const disk = createFiles();
        const known = new Set(both);
        const before = ascending([...new Set([...both, ...removed])]);
        const after = ascending([...new Set([...both, ...added.filter((id) => !removed.includes(id))])]);
        const a = await saveCluster({ storage: disk.storage, pservers: 2, ids: before });
        const b = await saveCluster({
          storage: disk.storage,
          pservers: 3,
          ids: after,
          names: 20,
          salt: isChanged ? 2 : 1,
        });
        const diff = await withSet(disk.storage, a.refs, (first) =>
          withSet(disk.storage, b.refs, (second) =>
            diffCheckpoints({ before: first, after: second, variables: { dense: [0, 1], sparse: [0, 1] } }),
          ),
        );
        const common = before.filter((id) => known.has(id) || after.includes(id));
        const old = a.whole.readRows(0, BigUint64Array.from(common)).values;
        const now = b.whole.readRows(0, BigUint64Array.from(common)).values;
        const differs = common.filter((_, row) => [0, 1, 2].some((at) => old[3 * row + at] !== now[3 * row + at]));
        const squares = old.reduce((sum, value, at) => sum + (value - now[at]!) ** 2, 0);
        expect(diff.tables[0]).toMatchObject({
          rowsBefore: before.length,
          rowsAfter: after.length,
          removed: before.length - common.length,
          added: after.length - common.length,
          changed: differs.length,
        });
        expect(diff.tables[0]!.distance).toBeCloseTo(Math.sqrt(squares), 4);
        expect(diff.dense.map(({ changed }) => changed)).toEqual(isChanged ? [15, 20_000] : [0, 0]);
        const isSame = before.length === common.length && after.length === common.length;
        expect(diff.same).toBe(isSame && !isChanged);
      }),
      { numRuns: 30 },
    );
  });

  it('names variables that are not alike', async () => {
    const disk = createFiles();
    const { dense, sparse } = jobOf().parameters;
    const other = jobOf({
      parameters: {
        dense: [dense[0]!],
        sparse: [
          { ...sparse[0]!, width: 4 },
          { ...sparse[1]!, name: 'x' },
        ],
      },
    });
    const a = await saveCluster({ storage: disk.storage, pservers: 2 });
    const b = await saveCluster({ storage: disk.storage, pservers: 1, job: other, names: 20 });
    const diff = await withSet(disk.storage, a.refs, (first) =>
      withSet(disk.storage, b.refs, (second) =>
        diffCheckpoints({ before: first, after: second, variables: { dense: [0, 1], sparse: [0, 1] } }),
      ),
    );
    expect(diff).toMatchObject({ same: false, tables: [], dense: [{ name: 'w' }] });
    expect(diff.unlike).toEqual([
      'emb: width 3 and 4',
      'emb/values.0: only before',
      'layer/bias: only before',
      'x: only after',
    ]);
  });
});
