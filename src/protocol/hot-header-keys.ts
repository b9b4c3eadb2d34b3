/** The CBOR (RFC 8949) of the texts that stand in every pull, push and answer to them, ready to be compared and copied. */

/** A text of less than 24 ASCII characters: its head is one byte. */
const text = (characters: string): Uint8Array =>
  Buffer.from(String.fromCharCode(0x60 + characters.length) + characters);
const pair = (key: string, value: string): Uint8Array => Buffer.concat([text(key), text(value)]);

/** `type` with its value, and the answers' `outcome` with its. */
export const PAIR = {
  pull: pair('type', 'pull'),
  push: pair('type', 'push'),
  applied: pair('outcome', 'applied'),
  duplicate: pair('outcome', 'duplicate'),
} as const;

export const KEY = {
  job: text('job'),
  cut: text('cut'),
  pass: text('pass'),
  task: text('task'),
  push: text('push'),
  last: text('last'),
  good: text('good'),
  placement: text('placement'),
  used: text('used'),
  revision: text('revision'),
  shards: text('shards'),
  version: text('version'),
  dense: text('dense'),
  parameter: text('parameter'),
  sparse: text('sparse'),
  table: text('table'),
  recovery: text('recovery'),
} as const;

/** First byte of a map of `count` pairs or an array of `count` items, under 24 of them. */
export const MAP = 0xa0;
export const ARRAY = 0x80;
export const TEXT = 0x60;
export const FALSE = 0xf4;
export const TRUE = 0xf5;
/** First bytes of lengths and counts that follow in 1, 2 and 4 bytes, big-endian, added to the major type. */
export const IN_1_BYTE = 24;
export const IN_2_BYTES = 25;
export const IN_4_BYTES = 26;
