/**
 * A checkpoint file far larger than the disk space it takes: ids are there, values are a hole in the file, which reads
 * as zeros. Whole and valid, checksums included when asked for (they take reading zeros once).
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { headerPlan } from '../../src/checkpoint/file/extent-writer.ts';
import { type CheckpointMeta, encodeMetadata, TENSORS, tensorName } from '../../src/checkpoint/file/format.ts';
import {
  DTYPE_BYTES,
  type Dtype,
  encodeHeader,
  HEADER_CRC,
  NO_HEADER_CRC,
  sealHeader,
  type TensorInfo,
} from '../../src/checkpoint/file/safetensors/header.ts';
import { createLedger } from '../../src/core/shard/ledger.ts';
import { createIdRouter } from '../../src/tensor/id-router.ts';

export interface SparseCheckpoint {
  readonly path: string;
  readonly rows: number;
  readonly width: number;
  readonly shards: number;
  readonly uuid: string;
  readonly withChecksums: boolean;
}

const SGD = { type: 'sgd', learningRate: 0.1, l2: 0 } as const;

/** Ids 0 to `rows`, dealt to shards: one extent a shard. Returns the size of the file. */
export function writeSparseCheckpoint(options: SparseCheckpoint): number {
  const { path, rows, width, shards, uuid, withChecksums } = options;
  const meta: CheckpointMeta = {
    uuid,
    jobId: '6f8d2c1a-0000-4000-8000-00000000000a',
    jobName: 'large',
    index: 0,
    token: 5n,
    recovery: 0n,
    timeline: 0n,
    kind: 'full',
    clean: false,
    createdAt: 1_700_000_000,
    parameters: { dense: [], sparse: [{ name: 'emb', width, initializer: { type: 'zeros' }, optimizer: SGD }] },
    seed: 1,
    shards,
  };
  const ids = BigUint64Array.from({ length: rows }, (_, at) => BigInt(at));
  const identity = Int32Array.from({ length: shards }, (_, shard) => shard);
  const routes = createIdRouter({ shards }).route('emb', new Uint8Array(ids.buffer), rows, identity);
  const byShard = new Map(routes.map(({ pserver, ids: own }) => [pserver, own]));
  const { headerBytes } = headerPlan(meta, shards, shards);
  const tensors: TensorInfo[] = [];
  const sums: number[] = [];
  const file = openSync(path, 'w');
  const add = (name: string, dtype: Dtype, shape: readonly number[], data: Uint8Array | undefined): void => {
    const begin = tensors.at(-1)?.end ?? 0;
    const bytes = shape.reduce((product, size) => product * size, DTYPE_BYTES[dtype]);
    if (bytes === 0) return;
    tensors.push({ name, dtype, shape, begin, end: begin + bytes });
    if (data !== undefined) writeSync(file, data, 0, bytes, headerBytes + begin);
    sums.push(data === undefined ? zerosCrc(withChecksums ? bytes : 0) : crc32(data));
  };
  const words = (...values: number[]): Uint8Array => new Uint8Array(BigUint64Array.from(values, BigInt).buffer);
  const ledger = createLedger(3).encode();
  for (const shard of identity) {
    const own = byShard.get(shard) ?? new Uint8Array(0);
    const count = own.length / 8;
    const at = (field: string): string => tensorName('sparse', 'emb', field, shard);
    add(TENSORS.shards(shard), 'U64', [1, 4], words(shard, 1, 7, 0));
    add(TENSORS.ledgerStarts(shard), 'U64', [2], words(0, ledger.length));
    if (count > 0) {
      add(at('rows'), 'U64', [2], words(0, count));
      add(at('ids'), 'U64', [count], own);
      add(at('values'), 'F32', [count, width], undefined);
    }
    const padding = -(4 * count * width + ledger.length) & 7;
    add(TENSORS.ledgers(shard), 'U8', [ledger.length + padding], Buffer.concat([ledger, Buffer.alloc(padding)]));
  }
  const checksums = Uint32Array.from(sums);
  add(TENSORS.checksums, 'U32', [checksums.length], new Uint8Array(checksums.buffer));
  const metadata = encodeMetadata({
    ...meta,
    extents: shards,
    rows,
    shardsHere: shards,
    checksumsCrc32: sums.at(-1)!,
  });
  const header = encodeHeader({ ...metadata, [HEADER_CRC]: NO_HEADER_CRC }, tensors, headerBytes)!;
  sealHeader(header);
  writeSync(file, header, 0, header.length, 0);
  closeSync(file);
  return headerBytes + tensors.at(-1)!.end;
}

const ZEROS = new Uint8Array(1 << 20);

function zerosCrc(bytes: number): number {
  let sum = 0;
  for (let left = bytes; left > 0; left -= ZEROS.length)
    sum = crc32(ZEROS.subarray(0, Math.min(left, ZEROS.length)), sum);
  return sum;
}
