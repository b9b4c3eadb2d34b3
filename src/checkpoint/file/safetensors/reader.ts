/**
 * Reads a safetensors file by ranges: only the header is held in memory, and no length is trusted before it is checked.
 */
import { assert } from '../../../base/assert.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { StoredFile } from '../../../base/seams.ts';
import { asCorrupt, corrupt } from '../files.ts';
import {
  DTYPE_BYTES,
  type Dtype,
  type Header,
  isSealIntact,
  LENGTH_BYTES,
  parseHeader,
  type TensorInfo,
} from './header.ts';

export interface Safetensors extends Header {
  /** Path of the file, for messages. */
  readonly name: string;
  readonly file: StoredFile;
  readonly bytes: number;
  /** Where the data begin. */
  readonly dataStart: number;
}

/** Checks lengths, JSON and layout. Throws `CheckpointCorrupt`. */
export async function readSafetensors(file: StoredFile, name: string): Promise<Safetensors> {
  const bytes = await file.size();
  const headerBytes = await readHeaderLength(file, name, bytes);
  const dataStart = LENGTH_BYTES + headerBytes;
  const json = new Uint8Array(headerBytes);
  await readFully(file, name, json, LENGTH_BYTES);
  return { ...parseHeader(json, bytes - dataStart, name), name, file, bytes, dataStart };
}

/** Whether the header is as it was written; undefined when it has no checksum. Throws `CheckpointCorrupt`. */
export async function isHeaderIntact({ file, name, dataStart }: Safetensors): Promise<boolean | undefined> {
  const header = new Uint8Array(dataStart);
  await readFully(file, name, header, 0);
  return isSealIntact(header);
}

/** Only the metadata, even of a file whose tensors are torn. Throws `CheckpointCorrupt`. */
export async function readMetadataOnly(file: StoredFile, name: string): Promise<ReadonlyMap<string, string>> {
  const headerBytes = await readHeaderLength(file, name, await file.size());
  const json = new Uint8Array(headerBytes);
  await readFully(file, name, json, LENGTH_BYTES);
  try {
    const value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json)) as Record<string, unknown>;
    const metadata = Object.entries((value.__metadata__ ?? {}) as object);
    return new Map(metadata.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  } catch (cause) {
    throw corrupt(name, 'the header is not JSON', cause);
  }
}

async function readHeaderLength(file: StoredFile, name: string, fileBytes: number): Promise<number> {
  if (fileBytes < LENGTH_BYTES) throw corrupt(name, `a file of ${fileBytes} bytes is not a safetensors file`);
  const field = new Uint8Array(LENGTH_BYTES);
  await readFully(file, name, field, 0);
  const length = new DataView(field.buffer).getBigUint64(0, true);
  if (length > BigInt(LIMITS.safetensorsHeaderBytes)) {
    throw corrupt(name, `expected a header of at most ${LIMITS.safetensorsHeaderBytes} bytes, got ${length}`);
  }
  if (length > BigInt(fileBytes - LENGTH_BYTES)) {
    throw corrupt(
      name,
      `the header claims ${length} bytes, but the file has ${fileBytes}: the file is truncated, or is not a safetensors file`,
    );
  }
  return Number(length);
}

async function readFully(file: StoredFile, name: string, into: Uint8Array, offset: number): Promise<void> {
  const count = await asCorrupt(name, () => file.read(into, offset));
  if (count !== into.length) throw corrupt(name, `ends at byte ${offset + count}, ${into.length - count} bytes early`);
}

export const tensorLength = (tensor: TensorInfo): number => (tensor.end - tensor.begin) / DTYPE_BYTES[tensor.dtype];

/** The tensor of that name, dtype and shape. Throws `CheckpointCorrupt`. */
export function expectTensor(source: Safetensors, name: string, dtype: Dtype, shape: readonly number[]): TensorInfo {
  const tensor = source.tensors.get(name);
  if (tensor === undefined) throw corrupt(source.name, `tensor ${name} is missing`);
  const isAsWanted = tensor.dtype === dtype && tensor.shape.join() === shape.join();
  if (!isAsWanted) {
    const found = `${tensor.dtype} [${tensor.shape}]`;
    throw corrupt(source.name, `expected tensor ${name} to be ${dtype} [${shape}], got ${found}`);
  }
  return tensor;
}

type Elements = Float32Array | Uint32Array | BigUint64Array | Uint8Array;

/**
 * Fills `into` with elements of the tensor from element `first` on. The caller has bounded `into`; the range must be
 * within the tensor. Throws `CheckpointCorrupt` when the file ends early or cannot be read.
 */
export async function readElements<T extends Elements>(
  source: Safetensors,
  tensor: TensorInfo,
  first: number,
  into: T,
): Promise<T> {
  const begin = tensor.begin + first * DTYPE_BYTES[tensor.dtype];
  assert(into.BYTES_PER_ELEMENT === DTYPE_BYTES[tensor.dtype], 'elements are read as what they are');
  assert(first >= 0 && begin + into.byteLength <= tensor.end, `a range of tensor ${tensor.name} is within it`);
  const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
  await readFully(source.file, `${source.name}: ${tensor.name}`, bytes, source.dataStart + begin);
  return into;
}
