/** The CBOR (RFC 8949) of the texts that stand in every pull, push and answer to them, ready to be compared and copied. */

/** First byte of a map of no pairs, an array of no items, an empty text; under 24 of them are added to it. */
export const MAP = 0xa0;
export const ARRAY = 0x80;
export const TEXT = 0x60;
export const FALSE = 0xf4;
export const TRUE = 0xf5;
/** Added to the major type instead: the length or count follows in 1, 2 or 4 bytes, big-endian. */
export const IN_1_BYTE = 24;
export const IN_2_BYTES = 25;
export const IN_4_BYTES = 26;

/** A text of less than 24 ASCII characters: its head is one byte. */
const text = (characters: string): Uint8Array =>
  Buffer.from(String.fromCharCode(TEXT + characters.length) + characters);
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
  batchPlanId: text('batchPlanId'),
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
