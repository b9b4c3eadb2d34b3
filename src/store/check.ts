/** Checks that every store makes before it acts, so that a job that runs on one kind of store runs on all. */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Compare, Op, RangeQuery, Txn } from './store.ts';

const LAST_CODE_POINT = 0x10ffff;

/** Throws `StoreLimit` for what is too large; a malformed transaction is a caller's bug. */
export function checkTxn(txn: Txn): void {
  const branches = [txn.then, txn.else ?? []];
  // etcd counts the compares and each branch by themselves.
  const operations = Math.max(txn.if.length, ...branches.map((branch) => branch.length));
  if (operations > LIMITS.storeTxnOps) {
    throw new PaddletError(
      'StoreLimit',
      `expected at most ${LIMITS.storeTxnOps} operations in a transaction, got ${operations}`,
    );
  }
  let bytes = 0;
  for (const compare of txn.if) bytes += checkCompare(compare);
  for (const branch of branches) bytes += checkBranch(branch);
  if (bytes > LIMITS.storeTxnBytes) {
    throw new PaddletError(
      'StoreLimit',
      `expected a transaction of at most ${LIMITS.storeTxnBytes} bytes, got ${bytes}`,
    );
  }
}

function checkCompare(compare: Compare): number {
  return checkKey(compare.key) + ('value' in compare ? checkValue(compare.key, compare.value) : 0);
}

/** etcd refuses a branch that puts a key twice, or puts what it also deletes. */
function checkBranch(branch: readonly Op[]): number {
  let bytes = 0;
  const put = new Set<string>();
  for (const op of branch) {
    bytes += checkKey(keyOf(op));
    if (!('put' in op)) continue;
    bytes += checkValue(op.put, op.value);
    assert(!put.has(op.put), `${op.put} is put once in a transaction`);
    put.add(op.put);
  }
  for (const op of branch) {
    if ('delete' in op) assert(!put.has(op.delete), `${op.delete} is put or deleted in a transaction, not both`);
    if ('deletePrefix' in op) {
      for (const key of put) {
        assert(!key.startsWith(op.deletePrefix), `${key} is put or deleted in a transaction, not both`);
      }
    }
  }
  return bytes;
}

function keyOf(op: Op): string {
  if ('put' in op) return op.put;
  if ('delete' in op) return op.delete;
  if ('deletePrefix' in op) return op.deletePrefix;
  return op.get;
}

/** The key's length in bytes. */
export function checkKey(key: string): number {
  assert(key.length > 0 && key.isWellFormed(), 'a key of the store is a non-empty, well-formed string');
  const bytes = Buffer.byteLength(key);
  if (bytes > LIMITS.storeKeyBytes) {
    throw new PaddletError('StoreLimit', `expected a key of at most ${LIMITS.storeKeyBytes} bytes, got ${bytes}`);
  }
  return bytes;
}

function checkValue(key: string, value: string): number {
  assert(value.isWellFormed(), `the value of ${key} is a well-formed string`);
  const bytes = Buffer.byteLength(value);
  if (bytes > LIMITS.storeValueBytes) {
    throw new PaddletError(
      'StoreLimit',
      `expected a value of at most ${LIMITS.storeValueBytes} bytes for ${key}, got ${bytes}`,
    );
  }
  return bytes;
}

/** True when no branch of it can change anything. */
export function isReadOnly(txn: Txn): boolean {
  return [...txn.then, ...(txn.else ?? [])].every((op) => 'get' in op);
}

export interface KeyInterval {
  readonly start: string;
  /** The first key behind; undefined: no end. */
  readonly end: string | undefined;
}

export function intervalOf(query: RangeQuery): KeyInterval {
  checkKey(query.prefix);
  if (query.from !== undefined) checkKey(query.from);
  if (query.limit !== undefined) assert(Number.isInteger(query.limit) && query.limit > 0, 'a limit is at least 1');
  const { prefix, from } = query;
  return { start: from !== undefined && compareKeys(from, prefix) > 0 ? from : prefix, end: prefixEnd(prefix) };
}

/**
 * The first key behind all that begin with `prefix`, or undefined when there is none. UTF-8 sorts bytewise as its code
 * points do, so raising the last code point is enough, and the bound stays text.
 */
export function prefixEnd(prefix: string): string | undefined {
  const points = Array.from(prefix, (char) => char.codePointAt(0)!);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === LAST_CODE_POINT) continue;
    // Surrogates are not characters: what follows U+D7FF is U+E000.
    const next = last === 0xd7ff ? 0xe000 : last + 1;
    return String.fromCodePoint(...points, next);
  }
  return undefined;
}

/** Orders keys bytewise in UTF-8, which differs from JavaScript's order of UTF-16 units above U+D7FF. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1;
  }
  return a.length - b.length;
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

export function checkTtl(ttlMs: number): void {
  assert(Number.isFinite(ttlMs) && ttlMs >= 1, 'a lease lasts at least a millisecond');
}
