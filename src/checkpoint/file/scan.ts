/** One pass over a whole file: its MD5, and a CRC-32 of each tensor, which tells the part that is damaged. */
import { crc32 } from 'node:zlib';
import { digestOf } from '../../base/files.ts';
import type { FileDigest, StoredFile } from '../../base/seams.ts';
import { asCorrupt, corrupt } from './files.ts';
import { TENSORS } from './format.ts';
import type { TensorInfo } from './safetensors/header.ts';
import { readElements, type Safetensors, tensorLength } from './safetensors/reader.ts';

/** Hashed in one go, while nothing is served. */
const CHUNK_BYTES = 1024 * 1024;

/** Called with the bytes read so far. */
export type Progress = (bytesDone: number) => void;

/** MD5 and size of a whole file, in another thread where one can read it. Throws `CheckpointCorrupt`. */
export const digestFile = (file: StoredFile, name: string, progress?: Progress): Promise<FileDigest> =>
  asCorrupt(name, () => (file.md5 === undefined || progress !== undefined ? digestOf(file, progress) : file.md5()));

/**
 * Names of the tensors whose data do not match their checksums; empty when all do: then damage that the MD5 shows
 * is in the header. Throws `CheckpointCorrupt` when the checksums are missing.
 */
export async function damagedTensors(source: Safetensors, onBytes?: (bytes: number) => void): Promise<string[]> {
  const list = source.tensors.get(TENSORS.checksums);
  const covered = [...source.tensors.values()].filter((tensor) => tensor !== list);
  if (list?.dtype !== 'U32' || tensorLength(list) !== covered.length) {
    throw corrupt(source.name, `${TENSORS.checksums} does not list a checksum for each tensor`);
  }
  if (String(await checksumOf(source, list, onBytes)) !== source.metadata.get('checksumsCrc32')) return [list.name];
  const wanted = await readElements(source, list, 0, new Uint32Array(covered.length));
  const damaged: string[] = [];
  for (const [at, tensor] of covered.entries()) {
    if ((await checksumOf(source, tensor, onBytes)) !== wanted[at]) damaged.push(tensor.name);
  }
  return damaged;
}

/** As `damagedTensors`, with checksums by name; a tensor without a checksum, or a checksum alone, is damaged, too. */
export async function tensorsUnlike(
  source: Safetensors,
  crcs: Readonly<Record<string, number>>,
  onBytes?: (bytes: number) => void,
): Promise<string[]> {
  const damaged = Object.keys(crcs).filter((name) => !source.tensors.has(name));
  for (const tensor of source.tensors.values()) {
    if ((await checksumOf(source, tensor, onBytes)) !== crcs[tensor.name]) damaged.push(tensor.name);
  }
  return damaged;
}

async function checksumOf(
  source: Safetensors,
  tensor: TensorInfo,
  onBytes: ((bytes: number) => void) | undefined,
): Promise<number> {
  const bytes = tensor.end - tensor.begin;
  const asBytes = { ...tensor, dtype: 'U8' as const };
  const chunk = new Uint8Array(Math.min(bytes, CHUNK_BYTES));
  let checksum = 0;
  for (let done = 0; done < bytes; ) {
    const part = chunk.subarray(0, Math.min(CHUNK_BYTES, bytes - done));
    await readElements(source, asBytes, done, part);
    checksum = crc32(part, checksum);
    done += part.length;
    onBytes?.(part.length);
  }
  return checksum;
}
