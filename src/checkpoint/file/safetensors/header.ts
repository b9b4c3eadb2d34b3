/**
 * The header of a safetensors file, from the format's public description: 8 bytes little-endian length n, then n bytes
 * of JSON (padded with spaces), then the data. The JSON maps each tensor's name to {dtype, shape, data_offsets},
 * offsets counted from the start of the data; `__metadata__` maps strings to strings. Tensors cover the data without
 * holes.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../../../base/assert.ts';
import { corrupt } from '../files.ts';

export const DTYPE_BYTES = {
  F64: 8,
  I64: 8,
  U64: 8,
  F32: 4,
  I32: 4,
  U32: 4,
  F16: 2,
  BF16: 2,
  I16: 2,
  U16: 2,
  F8_E4M3: 1,
  F8_E5M2: 1,
  I8: 1,
  U8: 1,
  BOOL: 1,
} as const;
export type Dtype = keyof typeof DTYPE_BYTES;

export interface TensorInfo {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** Bytes from the start of the data. */
  readonly begin: number;
  readonly end: number;
}

export type Metadata = Readonly<Record<string, string>>;

export interface Header {
  readonly metadata: ReadonlyMap<string, string>;
  /** Tensors in the order of their data. */
  readonly tensors: ReadonlyMap<string, TensorInfo>;
}

/** The length field before the JSON. */
export const LENGTH_BYTES = 8;
/** Object, tensor, shape: JSON that nests deeper is not a header. */
const HEADER_DEPTH = 3;

/** The JSON of a header, in UTF-8. */
export function headerJson(metadata: Metadata, tensors: readonly TensorInfo[]): Uint8Array {
  const entries: [string, unknown][] = [['__metadata__', metadata]];
  for (const { name, dtype, shape, begin, end } of tensors) {
    entries.push([name, { dtype, shape, data_offsets: [begin, end] }]);
  }
  return new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
}

/** Length field and JSON, padded with spaces to `reservedBytes` together. Undefined when it does not fit. */
export function encodeHeader(
  metadata: Metadata,
  tensors: readonly TensorInfo[],
  reservedBytes: number,
): Uint8Array | undefined {
  const json = headerJson(metadata, tensors);
  if (LENGTH_BYTES + json.length > reservedBytes) return undefined;
  const out = new Uint8Array(reservedBytes).fill(0x20);
  new DataView(out.buffer).setBigUint64(0, BigInt(reservedBytes - LENGTH_BYTES), true);
  out.set(json, LENGTH_BYTES);
  return out;
}

/** Name of the metadata with the CRC-32 of the header itself: eight hexadecimal digits, counted as zeros in the sum. */
export const HEADER_CRC = 'headerCrc32';
export const NO_HEADER_CRC = '00000000';

/** No string inside the JSON can hold these bytes, since a quote in it would be escaped. */
const CRC_FIELD = Buffer.from(`"${HEADER_CRC}":"`);

/** Offset of the eight digits in a header, or -1. */
function crcDigitsAt(header: Uint8Array): number {
  const at = Buffer.from(header.buffer, header.byteOffset, header.byteLength).indexOf(CRC_FIELD);
  const digits = at + CRC_FIELD.length;
  return at === -1 || digits + NO_HEADER_CRC.length > header.length ? -1 : digits;
}

const crcText = (header: Uint8Array): string => crc32(header).toString(16).padStart(8, '0');

/** Fills in the CRC of a header (length field and JSON) that was encoded with `NO_HEADER_CRC`. */
export function sealHeader(header: Uint8Array): void {
  const at = crcDigitsAt(header);
  assert(at !== -1, 'the header has a place for its checksum');
  header.set(Buffer.from(crcText(header)), at);
}

/** Whether the header is as it was sealed; undefined when it never was. Changes nothing in the end. */
export function isSealIntact(header: Uint8Array): boolean | undefined {
  const at = crcDigitsAt(header);
  if (at === -1) return undefined;
  const sealed = header.slice(at, at + NO_HEADER_CRC.length);
  header.set(Buffer.from(NO_HEADER_CRC), at);
  const isIntact = crcText(header) === Buffer.from(sealed).toString('latin1');
  header.set(sealed, at);
  return isIntact;
}

/** Parses and checks the JSON of a header against `dataBytes` of data. Throws `CheckpointCorrupt`. */
export function parseHeader(json: Uint8Array, dataBytes: number, file: string): Header {
  const entries = parseEntries(json, file);
  const metadata = new Map<string, string>();
  const tensors: TensorInfo[] = [];
  for (const [name, value] of entries) {
    if (name === '__metadata__') readMetadata(value, metadata, file);
    else tensors.push(readTensor(name, value, file));
  }
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end);
  let covered = 0;
  for (const { name, begin, end } of tensors) {
    if (begin !== covered)
      throw corrupt(file, `expected tensor ${name} to begin at ${covered}, got ${begin}: a gap or an overlap`);
    covered = end;
  }
  if (covered !== dataBytes) throw corrupt(file, `tensors cover ${covered} bytes, the file has ${dataBytes} of data`);
  return { metadata, tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])) };
}

function parseEntries(json: Uint8Array, file: string): [string, unknown][] {
  if (json[0] !== 0x7b) throw corrupt(file, 'the header does not begin with {');
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(json);
    refuseDuplicates(text);
    value = JSON.parse(text);
  } catch (cause) {
    throw corrupt(file, `the header is not valid: ${cause instanceof Error ? cause.message : 'unreadable'}`, cause);
  }
  return Object.entries(value as object);
}

/** JSON.parse keeps the last of two equal keys silently; readers in other languages may keep the first. */
function refuseDuplicates(text: string): void {
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : undefined);
      if (open.length > HEADER_DEPTH) throw new SyntaxError('the JSON is nested too deeply');
    } else if (char === '}' || char === ']') {
      open.pop();
    } else if (char === '"') {
      const end = stringEnd(text, at);
      const keys = open.at(-1);
      if (keys !== undefined && isKey(text, end)) {
        const key = JSON.parse(text.slice(at, end)) as string;
        if (keys.has(key)) throw new SyntaxError(`the name ${JSON.stringify(key)} occurs twice`);
        keys.add(key);
      }
      at = end - 1;
    }
  }
}

/** Index after the closing quote of the string that opens at `start`. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at + 1;
  }
  throw new SyntaxError('a string is not closed');
}

function isKey(text: string, end: number): boolean {
  let at = end;
  while (at < text.length && ' \t\r\n'.includes(text[at]!)) at++;
  return text[at] === ':';
}

function readMetadata(value: unknown, into: Map<string, string>, file: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw corrupt(file, '__metadata__ is not an object');
  }
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw corrupt(file, `__metadata__: ${key} is not a string`);
    into.set(key, text);
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function readTensor(name: string, value: unknown, file: string): TensorInfo {
  const fail = (message: string): never => {
    throw corrupt(file, `tensor ${name}: ${message}`);
  };
  if (typeof value !== 'object' || value === null) return fail('no description');
  const { dtype, shape, data_offsets: offsets } = value as Record<string, unknown>;
  if (typeof dtype !== 'string' || !Object.hasOwn(DTYPE_BYTES, dtype)) return fail('unknown dtype');
  if (!Array.isArray(shape) || !shape.every(isCount)) return fail('bad shape');
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) return fail('bad data_offsets');
  const [begin, end] = offsets as [number, number];
  const bytes = shape.reduce((product: number, size: number) => product * size, DTYPE_BYTES[dtype as Dtype]);
  if (!Number.isSafeInteger(bytes) || end - begin !== bytes) {
    return fail(`data_offsets [${begin}, ${end}] do not match its shape`);
  }
  return { name, dtype: dtype as Dtype, shape: shape as number[], begin, end };
}
