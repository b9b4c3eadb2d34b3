/** The bytes that CBOR (RFC 8949) has in headers. */

/** First byte of a map of no pairs, an array of no items, an empty text; up to LAST_IN_HEAD of them are added to it. */
export const MAP = 0xa0;
export const ARRAY = 0x80;
export const TEXT = 0x60;
export const LAST_IN_HEAD = 23;
export const FALSE = 0xf4;
export const TRUE = 0xf5;
/** A double, big-endian. */
export const FLOAT_64 = 0xfb;
/** Added to the major type instead: the length or count follows in 1, 2 or 4 bytes, big-endian. */
export const IN_1_BYTE = 24;
export const IN_2_BYTES = 25;
export const IN_4_BYTES = 26;

/** A text of at most LAST_IN_HEAD ASCII characters: its head is one byte. */
export const shortText = (characters: string): Uint8Array =>
  Buffer.from(String.fromCharCode(TEXT + characters.length) + characters);

/** What the header of a message begins with, behind the first byte of its map. */
export const opening = (type: string): Uint8Array => Buffer.concat([shortText('type'), shortText(type)]);

export interface Choice {
  readonly text: string;
  readonly bytes: Uint8Array;
}

export const choices = (...texts: readonly string[]): readonly Choice[] =>
  texts.map((text) => ({ text, bytes: shortText(text) }));
