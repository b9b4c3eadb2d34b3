/** RecordIO files for tests, and what is read of them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openContent } from '../../../../../src/data/bytes/content.ts';
import type { PackedSource } from '../../../../../src/data/bytes/packings/packing.ts';
import { encodeChunk } from '../../../../../src/data/bytes/packings/recordio/body.ts';
import type { Compressor } from '../../../../../src/data/bytes/packings/recordio/header.ts';
import { unpacked } from '../../../../../src/data/bytes/packings/unpack.ts';
import type { DataPlace } from '../../../../../src/data/place.ts';
import { ROOT } from '../../../../source-files.ts';
import { type TestPlace, testPlace } from '../../../place.ts';

export const golden = (name: string): Buffer =>
  readFileSync(join(ROOT, 'test/golden/data/recordio', `${name}.recordio`));

export const chunkOf = (records: readonly string[], compressor: Compressor = 'none'): Buffer =>
  encodeChunk(
    records.map((record) => Buffer.from(record)),
    compressor,
  );

/** A file `a` of these bytes. */
export function placeOf(...parts: readonly Uint8Array[]): TestPlace {
  const place = testPlace();
  writeFileSync(join(place.folder, 'a'), Buffer.concat(parts));
  return place;
}

export async function textOf(place: DataPlace, path = 'a'): Promise<string> {
  const { file, bytes } = await openContent(place, path);
  const text = Buffer.alloc(bytes);
  await file.read(text, 0);
  await file.close();
  return text.toString();
}

/** Of bytes that are read once. */
export async function contentOf(bytes: Uint8Array, onCorruptChunk?: PackedSource['onCorruptChunk']): Promise<string> {
  const content = await unpacked(oneByOne(bytes), { path: 'stdin', onCorruptChunk });
  const parts: Uint8Array[] = [];
  for await (const part of content.rest()) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function* oneByOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 50) yield bytes.subarray(at, at + 50);
}

/** With another byte there. */
export function damaged(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 0xff;
  return copy;
}
