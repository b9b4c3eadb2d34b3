import { expect, it } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import { fencedTxn } from '../../src/store/fence.ts';
import { listJobs } from '../../src/store/list-jobs.ts';
import type { Op } from '../../src/store/store.ts';
import { create, failureOf, put } from '../store/support.ts';
import type { ContractWorld } from './store-contract.ts';

export function transactionContract(world: ContractWorld): void {
  simpleTransactions(world);
  comparesAndFences(world);
  limits(world);
  ranges(world);
}

function simpleTransactions(world: ContractWorld): void {
  it('puts, gets and deletes, with create and mod revisions', async () => {
    const { store, other, prefix } = world;
    const key = `${prefix}a`;
    expect(await store.get(key)).toBeUndefined();
    const first = await put(store, key, '1');
    const second = await put(other, key, '2');
    expect(second.revision).toBeGreaterThan(first.revision);
    const entry = { key, value: '2', createRevision: first.revision, modRevision: second.revision, leaseId: 0n };
    expect(await store.get(key)).toEqual(entry);
    await other.txn({ if: [], then: [{ delete: key }] });
    expect(await store.get(key)).toBeUndefined();
  });

  it('gives a key that is created again a higher create revision: its owners are told apart', async () => {
    const { store, prefix } = world;
    const key = `${prefix}owner`;
    const { revision: first } = await put(store, key, 'a');
    const { revision: deletion } = await store.txn({ if: [], then: [{ delete: key }] });
    await put(store, key, 'a');
    const again = await store.get(key);
    expect(deletion).toBeGreaterThan(first);
    expect(again?.createRevision).toBeGreaterThan(deletion);
  });

  it('keeps any text, in keys and values', async () => {
    const { store, other, prefix } = world;
    const text = `NUL \0, quote ' and ", newline \n, é, 漢, \u{1F600}, last \u{10FFFF}\u{FFFF}`;
    await put(store, prefix + text, text);
    await put(store, `${prefix}empty`, '');
    expect((await other.get(prefix + text))?.value).toBe(text);
    expect((await other.get(`${prefix}empty`))?.value).toBe('');
  });

  it('makes one revision of a transaction, and none of one that changes nothing', async () => {
    const { store, prefix } = world;
    const { revision } = await store.txn({
      if: [],
      then: [{ put: `${prefix}a`, value: '1' }, { put: `${prefix}b`, value: '2' }, { delete: `${prefix}c` }],
    });
    expect((await store.get(`${prefix}a`))?.modRevision).toBe(revision);
    expect((await store.get(`${prefix}b`))?.modRevision).toBe(revision);
    const idle = await store.txn({ if: [], then: [{ delete: `${prefix}c` }, { deletePrefix: `${prefix}d` }] });
    expect(idle).toEqual({ succeeded: true, revision, results: [undefined, undefined] });
    expect((await store.txn({ if: [], then: [] })).revision).toBe(revision);
  });

  it('shows a get the operations before it in its transaction', async () => {
    const { store, prefix } = world;
    const key = `${prefix}a`;
    await put(store, key, 'old');
    const { results, revision } = await store.txn({
      if: [],
      then: [{ get: key }, { put: key, value: 'new' }, { get: key }, { get: `${prefix}none` }],
    });
    expect(results.map((entry) => entry?.value)).toEqual(['old', undefined, 'new', undefined]);
    expect(results[2]?.modRevision).toBe(revision);
  });

  it('gives concurrent writes of two connections revisions of their own, losing none', async () => {
    const { store, other, prefix } = world;
    const writes = Array.from({ length: 60 }, (_, i) => put(i % 2 === 0 ? store : other, `${prefix}${i}`, `${i}`));
    const revisions = (await Promise.all(writes)).map((answer) => answer.revision);
    expect(new Set(revisions).size).toBe(60);
    const { entries } = await store.range({ prefix });
    expect(entries.map((entry) => entry.modRevision).sort()).toEqual([...revisions].sort());
  });
}

function comparesAndFences(world: ContractWorld): void {
  it('lets exactly one of many create a key', async () => {
    const { store, other, prefix } = world;
    const tries = Array.from({ length: 20 }, (_, i) => create(i % 2 === 0 ? store : other, `${prefix}lock`, `${i}`));
    const won = (await Promise.all(tries)).flatMap((created, i) => (created ? [`${i}`] : []));
    expect(won).toHaveLength(1);
    expect((await store.get(`${prefix}lock`))?.value).toBe(won[0]);
  });

  it('compares create revisions, mod revisions and values, and takes the else branch otherwise', async () => {
    const { store, prefix } = world;
    const key = `${prefix}a`;
    const { revision: created } = await put(store, key, '1');
    const { revision: changed } = await put(store, key, '2');
    const holds = [
      { key, createRevision: created },
      { key, notCreateRevision: changed },
      { key, modRevision: changed },
      { key, value: '2' },
      { key: `${prefix}none`, createRevision: 0n },
      { key: `${prefix}none`, notCreateRevision: created },
      { key: `${prefix}none`, modRevision: 0n },
    ];
    const fails = [
      { key, createRevision: changed },
      { key, createRevision: 0n },
      { key, notCreateRevision: created },
      { key: `${prefix}none`, notCreateRevision: 0n },
      { key, modRevision: created },
      { key, value: '1' },
      { key: `${prefix}none`, value: '' },
    ];
    expect((await store.txn({ if: holds, then: [{ get: key }] })).succeeded).toBe(true);
    for (const fail of fails) {
      const then: Op[] = [{ delete: key }];
      const answer = await store.txn({ if: [...holds, fail], then, else: [{ get: key }] });
      expect(answer.succeeded).toBe(false);
      expect(answer.results[0]?.value).toBe('2');
    }
  });

  it('writes by the else branch too', async () => {
    const { store, prefix } = world;
    const key = `${prefix}a`;
    const answer = await store.txn({ if: [{ key, value: 'x' }], then: [], else: [{ put: key, value: 'y' }] });
    expect(answer.succeeded).toBe(false);
    expect(await store.get(key)).toMatchObject({ value: 'y', modRevision: answer.revision });
  });

  it('fences the writes of an owner that was followed by another', async () => {
    const { store, other, prefix } = world;
    const key = `${prefix}owner`;
    const fence = { key, token: (await put(store, key, 'first')).revision };
    const write = (value: string) => fencedTxn(store, fence, { then: [{ put: `${prefix}state`, value }] });
    expect((await write('1')).succeeded).toBe(true);
    const refused = await fencedTxn(store, fence, {
      if: [{ key: `${prefix}state`, value: 'other' }],
      then: [],
      else: [{ get: `${prefix}state` }],
    });
    expect(refused.succeeded).toBe(false);
    expect(refused.results.map((entry) => entry?.value)).toEqual(['1']);

    await other.txn({ if: [], then: [{ delete: key }] });
    expect((await failureOf(write('2'))).code).toBe('LeaseGone');
    await put(other, key, 'second');
    expect((await failureOf(write('3'))).code).toBe('LeaseGone');
    expect((await store.get(`${prefix}state`))?.value).toBe('1');
  });
}

function limits(world: ContractWorld): void {
  it(`takes ${LIMITS.storeTxnOps} operations a transaction and no more`, async () => {
    const { store, prefix } = world;
    const puts = (count: number): Op[] =>
      Array.from({ length: count }, (_, i) => ({ put: `${prefix}${i}`, value: 'x' }));
    const compares = puts(LIMITS.storeTxnOps).map((_, i) => ({ key: `${prefix}${i}`, createRevision: 0n }));
    const full = await store.txn({ if: compares, then: puts(LIMITS.storeTxnOps), else: puts(LIMITS.storeTxnOps) });
    expect(full.succeeded).toBe(true);
    for (const branch of [{ then: puts(LIMITS.storeTxnOps + 1) }, { then: [], else: puts(LIMITS.storeTxnOps + 1) }]) {
      expect((await failureOf(store.txn({ if: [], ...branch }))).code).toBe('StoreLimit');
    }
    expect((await store.range({ prefix })).entries).toHaveLength(LIMITS.storeTxnOps);
  });

  it(`takes values of ${LIMITS.storeValueBytes} bytes and no larger ones`, async () => {
    const { store, other, prefix } = world;
    const largest = 'é'.repeat(LIMITS.storeValueBytes / 2);
    await put(store, `${prefix}a`, largest);
    expect((await other.get(`${prefix}a`))?.value).toBe(largest);
    expect((await failureOf(put(store, `${prefix}b`, `${largest}x`))).code).toBe('StoreLimit');
    expect((await failureOf(put(store, 'k'.repeat(LIMITS.storeKeyBytes + 1), ''))).code).toBe('StoreLimit');
    const half = 'x'.repeat(800_000);
    const two: Op[] = [
      { put: `${prefix}c`, value: half },
      { put: `${prefix}d`, value: half },
    ];
    expect((await failureOf(store.txn({ if: [], then: two }))).code).toBe('StoreLimit');
  });

  it('takes it for a bug to change a key twice in one transaction', async () => {
    const { store, prefix } = world;
    const key = `${prefix}a`;
    const one: Op = { put: key, value: '1' };
    for (const second of [{ put: key, value: '2' }, { delete: key }, { deletePrefix: prefix }]) {
      await expect(store.txn({ if: [], then: [one, second] })).rejects.toThrow(key);
    }
    expect(await store.get(key)).toBeUndefined();
  });
}

function ranges(world: ContractWorld): void {
  it('sorts bytewise, which is not how JavaScript sorts', async () => {
    const { store, prefix } = world;
    const keys = ['B', 'a', 'a/b', 'a0', 'é', '\uE000', '\uFFFD', '\u{1F600}'].map((key) => prefix + key);
    for (const key of [...keys].reverse()) await put(store, key, 'x');
    expect((await store.range({ prefix })).entries.map((entry) => entry.key)).toEqual(keys);
  });

  it('reads what begins with the prefix, from a key on, in pages', async () => {
    const { store, prefix } = world;
    for (const key of ['a', 'b/1', 'b/2', 'b/3', 'b0', 'c']) await put(store, prefix + key, key);
    const read = async (query: { prefix: string; from?: string; limit?: number }) => {
      const { entries, more } = await store.range(query);
      return [...entries.map((entry) => entry.value), more];
    };
    const b = `${prefix}b/`;
    expect(await read({ prefix: b })).toEqual(['b/1', 'b/2', 'b/3', false]);
    expect(await read({ prefix: b, limit: 2 })).toEqual(['b/1', 'b/2', true]);
    expect(await read({ prefix: b, from: `${b}2`, limit: 2 })).toEqual(['b/2', 'b/3', false]);
    expect(await read({ prefix: b, from: `${b}2\0` })).toEqual(['b/3', false]);
    expect(await read({ prefix: b, from: prefix })).toEqual(['b/1', 'b/2', 'b/3', false]);
    expect(await read({ prefix: b, from: `${prefix}c` })).toEqual([false]);
    expect(await read({ prefix: `${prefix}none` })).toEqual([false]);
  });

  it('reads a range of thousands of keys at one revision', async () => {
    const { store, other, prefix } = world;
    const keys = Array.from({ length: 4_500 }, (_, i) => `${prefix}${String(i).padStart(5, '0')}`);
    for (let i = 0; i < keys.length; i += 125) {
      const then = keys.slice(i, i + 125).map((key): Op => ({ put: key, value: 'x' }));
      await store.txn({ if: [], then });
    }
    // The last key changes while others are read: the answer is of a moment before or after, never of both.
    const [range, { revision }] = await Promise.all([store.range({ prefix }), put(other, keys.at(-1)!, 'y')]);
    expect(range.entries.map((entry) => entry.key)).toEqual(keys);
    expect(range.entries.at(-1)?.value).toBe(range.revision >= revision ? 'y' : 'x');
  });

  it('deletes what begins with a prefix, and nothing else', async () => {
    const { store, prefix } = world;
    for (const key of ['a', 'a/1', 'a/2', 'a0', 'b']) await put(store, prefix + key, key);
    await store.txn({ if: [], then: [{ deletePrefix: `${prefix}a/` }] });
    expect((await store.range({ prefix })).entries.map((entry) => entry.value)).toEqual(['a', 'a0', 'b']);
    await store.txn({ if: [], then: [{ deletePrefix: prefix }] });
    expect((await store.range({ prefix })).entries).toEqual([]);
  });

  it('finds the jobs, whatever else is there', async () => {
    const { store, prefix } = world;
    const keys = ['a/job', 'a/tasks/1', 'a/tasks/2', 'a-b/job', 'gone/tasks/1', 'stray', 'z/job', 'z/zz'];
    for (const key of keys) await put(store, prefix + key, '{}');
    expect(await listJobs(store, { root: prefix })).toEqual(['a', 'a-b', 'z']);
    expect(await listJobs(store, { root: prefix, most: 2 })).toHaveLength(2);
  });
}
