/**
 * Event files of TensorBoard: records, each with its length and the masked CRC-32C of length and data, of the message
 * `Event` (tensorflow/core/util/event.proto). Only its few fields that scalars need are written.
 */
import { maskedCrc32c } from '../../base/crc32c.ts';

export interface Scalar {
  readonly tag: string;
  /** Seconds since 1970. */
  readonly time: number;
  readonly step: number;
  readonly value: number;
}

const FILE_VERSION = 'brain.Event:2';

export interface EventFile {
  /** Seconds since 1970. */
  readonly created: number;
  readonly scalars: readonly Scalar[];
}

/** The same scalars always make the same bytes. */
export const eventFile = ({ created, scalars }: EventFile): Buffer =>
  Buffer.concat([fileBegin(created), ...scalars.map((scalar) => framed(eventOf(scalar)))]);

/** The first record of an event file. */
export const fileBegin = (created: number): Buffer =>
  framed(Buffer.concat([doubleField(1, created), bytesField(3, Buffer.from(FILE_VERSION))]));

function eventOf({ tag, time, step, value }: Scalar): Buffer {
  const entry = Buffer.concat([bytesField(1, Buffer.from(tag)), floatField(2, value)]);
  return Buffer.concat([
    doubleField(1, time),
    Buffer.concat([key(2, VARINT), varint(step)]),
    bytesField(5, bytesField(1, entry)),
  ]);
}

/** Wire types of protobuf. */
const VARINT = 0;
const I64 = 1;
const LENGTH = 2;
const I32 = 5;

const key = (field: number, wireType: number): Buffer => varint(8 * field + wireType);

/** Encodes a whole number that is not negative. */
function varint(number: number): Buffer {
  const bytes: number[] = [];
  let left = number;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return Buffer.from([...bytes, left]);
}

function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([key(field, I64), bytes]);
}

function floatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([key(field, I32), bytes]);
}

const bytesField = (field: number, bytes: Buffer): Buffer =>
  Buffer.concat([key(field, LENGTH), varint(bytes.length), bytes]);

function framed(data: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([length, maskedCrc(length), data, maskedCrc(data)]);
}

function maskedCrc(bytes: Uint8Array): Buffer {
  const masked = Buffer.alloc(4);
  masked.writeUInt32LE(maskedCrc32c(bytes));
  return masked;
}
