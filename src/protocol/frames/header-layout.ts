/** The hot messages (`messages/hot-messages.ts`) with the CBOR (RFC 8949) of their fixed texts, ready to be compared and copied. */
import { type Column, columnsOf, type Fields } from '../messages/field-table.ts';
import { HOT_MESSAGES } from '../messages/hot-messages.ts';
import type { FrameKind } from './frame-kind.ts';
import { LastValue } from './last-value.ts';

/** First byte of a map of no pairs, an array of no items, an empty text; up to MAX_IN_HEAD of them are added to it. */
export const MAP = 0xa0;
export const ARRAY = 0x80;
export const TEXT = 0x60;
export const MAX_IN_HEAD = 23;
export const FALSE = 0xf4;
export const TRUE = 0xf5;
/** A double, big-endian. */
export const FLOAT_64 = 0xfb;
/** Added to the major type instead: the length or count follows in 1, 2 or 4 bytes, big-endian. */
export const IN_1_BYTE = 24;
export const IN_2_BYTES = 25;
export const IN_4_BYTES = 26;

/** A field with its bytes. */
export interface Slot extends Column {
  /** Its name. */
  readonly key: Uint8Array;
  /** Of each of the choices. */
  readonly choiceTexts: readonly Uint8Array[];
  /** Of a map, or of each item of a list. */
  readonly slots: readonly Slot[];
  readonly last: LastValue;
}

export interface HeaderLayout {
  readonly type: string;
  /** `type` with its value: what the map begins with. */
  readonly opening: Uint8Array;
  readonly slots: readonly Slot[];
}

/** A text of at most MAX_IN_HEAD ASCII characters: its head is one byte. */
const shortText = (characters: string): Uint8Array =>
  Buffer.from(String.fromCharCode(TEXT + characters.length) + characters);

const slotsOf = (columns: readonly Column[]): readonly Slot[] =>
  columns.map((column) => ({
    ...column,
    key: shortText(column.name),
    choiceTexts: column.choices.map(shortText),
    slots: slotsOf(column.columns),
    last: new LastValue(),
  }));

const layoutOf = (type: string, fields: Fields): HeaderLayout => ({
  type,
  opening: Buffer.concat([shortText('type'), shortText(type)]),
  slots: slotsOf(columnsOf(fields)),
});

const messages = Object.entries(HOT_MESSAGES);
export const LAYOUTS: Readonly<Record<FrameKind, readonly HeaderLayout[]>> = {
  request: messages.map(([type, { request }]) => layoutOf(type, request)),
  reply: messages.map(([type, { reply }]) => layoutOf(type, reply)),
  error: [],
};
