/**
 * Writes a safetensors file front to back in bounded memory. Room for the header is reserved and filled last, because
 * sizes are known only then. Until then a first header has the metadata and no tensors, so that a torn file still names
 * its owner and never passes for a whole one.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../../../base/assert.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { DiskFile } from '../../../base/seams.ts';
import {
  DTYPE_BYTES,
  type Dtype,
  encodeHeader,
  HEADER_CRC,
  type Metadata,
  NO_HEADER_CRC,
  sealHeader,
  type TensorInfo,
} from './header.ts';

export interface NewTensor {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** The data, little-endian, in pieces. */
  readonly parts: readonly Uint8Array[];
}

/** A tensor too large to be held: each piece is done with when the next one is asked for. */
export interface StreamedTensor extends Omit<NewTensor, 'parts'> {
  readonly parts: AsyncIterable<Uint8Array>;
}

export interface WrittenTensor extends TensorInfo {
  /** CRC-32 (zlib's) of the data. */
  readonly crc32: number;
}

/** Waits as long as the writer should pause before it writes `bytes` more bytes. */
export type Pace = (bytes: number) => Promise<void>;

export interface SafetensorsWriter {
  /** Tensors in the order of their data. */
  readonly tensors: readonly WrittenTensor[];
  append(tensor: NewTensor | StreamedTensor): Promise<void>;
  /** Fills the header and syncs the file; its size in bytes. */
  finish(metadata: Metadata): Promise<number>;
}

/** Small parts are gathered before they are written: a shard's arrays can be a few bytes long. */
const GATHER_BYTES = 128 * 1024;

export async function createSafetensorsWriter(options: {
  readonly file: DiskFile;
  /** Length field and JSON together; a multiple of 8. */
  readonly headerBytes: number;
  readonly metadata: Metadata;
  readonly pace?: Pace;
}): Promise<SafetensorsWriter> {
  const { file, headerBytes, pace } = options;
  assert(headerBytes % 8 === 0, 'data begin at a multiple of 8');
  const tensors: WrittenTensor[] = [];
  const names = new Set<string>();
  const gathered = new Uint8Array(GATHER_BYTES);
  let gatheredBytes = 0;
  let written = headerBytes;

  async function writeHeader(metadata: Metadata): Promise<void> {
    const header = encodeHeader({ ...metadata, [HEADER_CRC]: NO_HEADER_CRC }, tensors, headerBytes);
    assert(header !== undefined, 'the header fits in the room reserved for it');
    sealHeader(header);
    await file.write(header, 0);
  }

  async function writeData(bytes: Uint8Array): Promise<void> {
    await pace?.(bytes.length);
    await file.write(bytes, written);
    written += bytes.length;
  }

  async function flush(): Promise<void> {
    if (gatheredBytes === 0) return;
    await writeData(gathered.subarray(0, gatheredBytes));
    gatheredBytes = 0;
  }

  async function put(part: Uint8Array): Promise<void> {
    if (gatheredBytes + part.length > GATHER_BYTES) await flush();
    if (part.length > GATHER_BYTES) return writeData(part);
    gathered.set(part, gatheredBytes);
    gatheredBytes += part.length;
  }

  await writeHeader(options.metadata);
  return {
    tensors,
    async append({ name, dtype, shape, parts }) {
      assert(!names.has(name), `tensor ${name} is written once`);
      names.add(name);
      let checksum = 0;
      let bytes = 0;
      for await (const part of parts) {
        checksum = crc32(part, checksum);
        bytes += part.length;
        await put(part);
      }
      const expected = shape.reduce((product, size) => product * size, DTYPE_BYTES[dtype]);
      assert(bytes === expected, `tensor ${name} has the bytes of its shape`);
      const begin = tensors.at(-1)?.end ?? 0;
      tensors.push({ name, dtype, shape, begin, end: begin + bytes, crc32: checksum });
    },
    async finish(metadata) {
      await flush();
      await writeHeader(metadata);
      failPoint('checkpoint.written');
      return written;
    },
  };
}
