/**
 * Reads the headers that come thousands of times a second, pulls, pushes and answers to them, without the library: what is
 * expected next is compared, not looked up (docs/decisions/0101). Understood are the fields in the order of `src/protocol/frames/header-writer.ts`, with numbers in any of their forms;
 * anything else, also what is only unusual, is left to the library (`cbor.ts`), so that this decides nothing.
 */
import { ARRAY, FALSE, IN_1_BYTE, IN_2_BYTES, IN_4_BYTES, KEY, MAP, PAIR, TEXT, TRUE } from './header-keys.ts';

const MAX_TEXT_BYTES = 256;
/** Longer arrays are not for here: their head has more than one byte. */
const MAX_ITEMS = 23;

/** A header, or undefined when the library has to read it. */
export function readHotHeader(bytes: Uint8Array, from: number, to: number): unknown {
  const cursor = new Cursor(bytes, from, to);
  const header = headerAt(cursor);
  return cursor.isAtEnd ? header : undefined;
}

function headerAt(cursor: Cursor): unknown {
  const pairs = cursor.head(MAP);
  if (cursor.meets(PAIR.push)) {
    if (pairs === 11 || pairs === 12) return pushAt(cursor, pairs === 12);
    return pairs === 3 ? pushAnswerAt(cursor) : cursor.fail();
  }
  if (cursor.meets(PAIR.pull)) {
    if (pairs === 6) return pullAt(cursor);
    return pairs === 2 ? { type: 'pull', version: cursor.countOf(KEY.version) } : cursor.fail();
  }
  return cursor.fail();
}

function pullAt(cursor: Cursor): unknown {
  const job = cursor.textOf(KEY.job, jobs);
  const batchPlanId = cursor.textOf(KEY.batchPlanId, batchPlanIds);
  const placement = placementAt(cursor);
  const dense = cursor.partsOf(KEY.dense, () => ({ parameter: cursor.countOf(KEY.parameter) }));
  const sparse = cursor.partsOf(KEY.sparse, () => ({ table: cursor.countOf(KEY.table) }));
  return { type: 'pull', job, batchPlanId, placement, dense, sparse };
}

function pushAt(cursor: Cursor, hasUsed: boolean): unknown {
  const job = cursor.textOf(KEY.job, jobs);
  const batchPlanId = cursor.textOf(KEY.batchPlanId, batchPlanIds);
  const pass = cursor.countOf(KEY.pass);
  const task = cursor.countOf(KEY.task);
  const push = cursor.countOf(KEY.push);
  const last = cursor.booleanOf(KEY.last);
  const good = cursor.countOf(KEY.good);
  const placement = placementAt(cursor);
  const used = hasUsed ? usedAt(cursor) : undefined;
  const dense = cursor.partsOf(KEY.dense, () => ({ parameter: cursor.countOf(KEY.parameter) }));
  const sparse = cursor.partsOf(KEY.sparse, () => ({ table: cursor.countOf(KEY.table) }));
  const header = { type: 'push', job, batchPlanId, pass, task, push, last, good, placement, dense, sparse };
  return used === undefined ? header : { ...header, used };
}

function pushAnswerAt(cursor: Cursor): unknown {
  const outcome = cursor.meets(PAIR.applied) ? 'applied' : 'duplicate';
  if (outcome === 'duplicate' && !cursor.meets(PAIR.duplicate)) return cursor.fail();
  return { type: 'push', outcome, recovery: cursor.countOf(KEY.recovery) };
}

function placementAt(cursor: Cursor): unknown {
  cursor.openMap(KEY.placement, 2);
  const revision = cursor.textOf(KEY.revision, revisions);
  return { revision, shards: cursor.countOf(KEY.shards) };
}

function usedAt(cursor: Cursor): unknown {
  cursor.openMap(KEY.used, 2);
  const revision = cursor.textOf(KEY.revision, revisions);
  return { revision, version: cursor.countOf(KEY.version) };
}

/** The text read last in some place: mostly the next one is the same, and need not be made again. */
class LastText {
  readonly #bytes = new Uint8Array(MAX_TEXT_BYTES);
  #length = 0;
  #text = '';

  /** Of ASCII only; undefined for other text. */
  at(bytes: Uint8Array, at: number, length: number): string | undefined {
    let same = 0;
    if (length === this.#length) while (same < length && this.#bytes[same] === bytes[at + same]) same++;
    if (length > 0 && same === length) return this.#text;
    let all = 0;
    for (let i = 0; i < length; i++) all |= bytes[at + i]!;
    if (all >= 0x80) return undefined;
    for (let i = 0; i < length; i++) this.#bytes[i] = bytes[at + i]!;
    this.#length = length;
    this.#text = Buffer.from(this.#bytes.buffer, 0, length).toString('latin1');
    return this.#text;
  }
}

const jobs = new LastText();
const batchPlanIds = new LastText();
const revisions = new LastText();

/** Goes through a header. After something unexpected it never comes to the end, and what it returned is of no use. */
class Cursor {
  readonly #bytes: Uint8Array;
  #at: number;
  readonly #end: number;
  #failed = false;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = to;
  }

  get isAtEnd(): boolean {
    return !this.#failed && this.#at === this.#end;
  }

  fail(): undefined {
    this.#failed = true;
    return undefined;
  }

  /** Steps over `expected` if it comes next. */
  meets(expected: Uint8Array): boolean {
    const at = this.#at;
    if (expected.length > this.#end - at) return false;
    for (let i = 0; i < expected.length; i++) if (this.#bytes[at + i] !== expected[i]) return false;
    this.#at = at + expected.length;
    return true;
  }

  /** A length in one byte of that major type. */
  head(major: number): number {
    const count = this.#byte() - major;
    if (count < 0 || count > MAX_ITEMS) this.#failed = true;
    return count;
  }

  openMap(key: Uint8Array, pairs: number): void {
    this.#key(key);
    if (this.#byte() !== MAP + pairs) this.#failed = true;
  }

  countOf(key: Uint8Array): number {
    this.#key(key);
    return this.#count(0);
  }

  booleanOf(key: Uint8Array): boolean {
    this.#key(key);
    const byte = this.#byte();
    if (byte !== TRUE && byte !== FALSE) this.#failed = true;
    return byte === TRUE;
  }

  textOf(key: Uint8Array, last: LastText): string {
    this.#key(key);
    const length = this.#count(TEXT);
    if (this.#failed || length > MAX_TEXT_BYTES || length > this.#end - this.#at) {
      this.#failed = true;
      return '';
    }
    const text = last.at(this.#bytes, this.#at, length);
    this.#at += length;
    if (text === undefined) this.#failed = true;
    return text ?? '';
  }

  /** An array of maps with one pair each. */
  partsOf<Part>(key: Uint8Array, read: () => Part): Part[] {
    this.#key(key);
    const parts: Part[] = [];
    const count = this.head(ARRAY);
    for (let i = 0; i < count && !this.#failed; i++) {
      if (this.#byte() !== MAP + 1) this.#failed = true;
      parts.push(read());
    }
    return parts;
  }

  #key(key: Uint8Array): void {
    if (!this.meets(key)) this.#failed = true;
  }

  /** A number of the shortest form or not, up to 2^32 - 1, whose first byte is over `major`. */
  #count(major: number): number {
    const first = this.#byte() - major;
    if (first >= 0 && first < IN_1_BYTE) return first;
    if (first === IN_1_BYTE) return this.#byte();
    if (first === IN_2_BYTES) return this.#byte() * 0x100 + this.#byte();
    if (first !== IN_4_BYTES) this.#failed = true;
    return ((this.#byte() << 24) | (this.#byte() << 16) | (this.#byte() << 8) | this.#byte()) >>> 0;
  }

  #byte(): number {
    if (this.#at < this.#end) return this.#bytes[this.#at++]!;
    this.#failed = true;
    return 0;
  }
}
