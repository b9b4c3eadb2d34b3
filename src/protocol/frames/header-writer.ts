/**
 * Writes the headers that go out thousands of times a second, pulls, pushes and answers to them, straight to where they are sent from. The bytes
 * are those that the library (`cbor.ts`) makes of the same fields in this order; tests compare them. Other headers are the library's.
 */

import type { ReplyHeader, RequestHeader } from '../messages/messages.ts';
import { isPlainPullOrPush, isPlainReply } from '../messages/plain-messages.ts';
import { ARRAY, FALSE, IN_1_BYTE, IN_2_BYTES, IN_4_BYTES, KEY, MAP, PAIR, TEXT, TRUE } from './header-keys.ts';

type Request<T> = Extract<RequestHeader, { type: T }>;
type Reply<T> = Extract<ReplyHeader, { type: T }>;

const MAX_ITEMS = 23;
const MAX_UINT32 = 2 ** 32 - 1;

/**
 * Writes a header from `at` on and returns where it ends; undefined, with anything behind `at`, when the library has to write it, also when `into`
 * is too short.
 */
export function writeHotHeader(header: unknown, into: Uint8Array, at: number): number | undefined {
  const pen = new Pen(into, at);
  if (isPlainReply(header)) {
    if (header.type === 'pull') writePullAnswer(pen, header);
    else writePushAnswer(pen, header);
  } else if (isPlainPullOrPush(header)) {
    if (header.type === 'pull') writePull(pen, header);
    else if (header.type === 'push') writePush(pen, header);
    else return undefined;
  } else {
    return undefined;
  }
  return pen.end;
}

function writePull(pen: Pen, header: Request<'pull'>): void {
  pen.byte(MAP + 6);
  pen.bytes(PAIR.pull);
  pen.text(KEY.job, header.job);
  pen.text(KEY.batchPlanId, header.batchPlanId);
  writePlacement(pen, header.placement);
  writeParts(pen, header);
}

function writePush(pen: Pen, header: Request<'push'>): void {
  const { used } = header;
  pen.byte(MAP + (used === undefined ? 11 : 12));
  pen.bytes(PAIR.push);
  pen.text(KEY.job, header.job);
  pen.text(KEY.batchPlanId, header.batchPlanId);
  pen.count(KEY.pass, header.pass);
  pen.count(KEY.task, header.task);
  pen.count(KEY.push, header.push);
  pen.bytes(KEY.last);
  pen.byte(header.last ? TRUE : FALSE);
  pen.count(KEY.good, header.good);
  writePlacement(pen, header.placement);
  if (used !== undefined) {
    pen.bytes(KEY.used);
    pen.byte(MAP + 2);
    pen.text(KEY.revision, used.revision);
    pen.count(KEY.version, used.version);
  }
  writeParts(pen, header);
}

function writePullAnswer(pen: Pen, header: Reply<'pull'>): void {
  pen.byte(MAP + 2);
  pen.bytes(PAIR.pull);
  pen.count(KEY.version, header.version);
}

function writePushAnswer(pen: Pen, header: Reply<'push'>): void {
  pen.byte(MAP + 3);
  pen.bytes(PAIR.push);
  pen.bytes(PAIR[header.outcome]);
  pen.count(KEY.recovery, header.recovery);
}

function writePlacement(pen: Pen, placement: Request<'push'>['placement']): void {
  pen.bytes(KEY.placement);
  pen.byte(MAP + 2);
  pen.text(KEY.revision, placement.revision);
  pen.count(KEY.shards, placement.shards);
}

function writeParts(pen: Pen, { dense, sparse }: Request<'pull'> | Request<'push'>): void {
  pen.array(KEY.dense, dense.length);
  for (const { parameter } of dense) {
    pen.byte(MAP + 1);
    pen.count(KEY.parameter, parameter);
  }
  pen.array(KEY.sparse, sparse.length);
  for (const { table } of sparse) {
    pen.byte(MAP + 1);
    pen.count(KEY.table, table);
  }
}

/** Once something does not fit, or is not for here, all that follows is written in vain. */
class Pen {
  readonly #into: Uint8Array;
  #at: number;
  #failed = false;

  constructor(into: Uint8Array, at: number) {
    this.#into = into;
    this.#at = at;
  }

  get end(): number | undefined {
    return this.#failed || this.#at > this.#into.length ? undefined : this.#at;
  }

  /** Writing behind the end of an array changes nothing, and `end` sees it. */
  byte(value: number): void {
    this.#into[this.#at++] = value;
  }

  bytes(values: Uint8Array): void {
    for (let i = 0; i < values.length; i++) this.#into[this.#at + i] = values[i]!;
    this.#at += values.length;
  }

  count(key: Uint8Array, value: number): void {
    this.bytes(key);
    // The library writes larger ones as floats.
    if (value > MAX_UINT32) this.#failed = true;
    this.#head(0, value);
  }

  text(key: Uint8Array, value: string): void {
    this.bytes(key);
    this.#head(TEXT, value.length);
    let all = 0;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      all |= code;
      this.#into[this.#at + i] = code;
    }
    this.#at += value.length;
    if (all >= 0x80) this.#failed = true;
  }

  array(key: Uint8Array, items: number): void {
    this.bytes(key);
    if (items > MAX_ITEMS) this.#failed = true;
    this.byte(ARRAY + items);
  }

  /** In the shortest form. */
  #head(major: number, value: number): void {
    if (value < IN_1_BYTE) {
      this.byte(major + value);
    } else if (value < 0x100) {
      this.byte(major + IN_1_BYTE);
      this.byte(value);
    } else if (value < 0x1_0000) {
      this.byte(major + IN_2_BYTES);
      this.byte(value >>> 8);
      this.byte(value & 0xff);
    } else {
      this.byte(major + IN_4_BYTES);
      for (let shift = 24; shift >= 0; shift -= 8) this.byte((value >>> shift) & 0xff);
    }
  }
}
