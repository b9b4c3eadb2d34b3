/** Refuses bounds of tables that are too small to use, or that the pservers of the job cannot hold. */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Job } from '../../job/schema.ts';
import { LOADING_EXCESS, memoryFactor } from '../../tensor/admission/admission.ts';
import { WASM_PAGE_BYTES } from '../../tensor/kernels/instance.ts';
import type { TrainedSpec } from '../../tensor/optimizer.ts';
import { hasCandidates, rowBytes, rowLayout } from '../../tensor/stored-tables.ts';

/** With fewer rows in a shard, most updates would evict. */
const LEAST_ROWS = 64;
const PSERVER_BYTES = LIMITS.kernelMemoryPages * WASM_PAGE_BYTES;

type Checked = Pick<Job, 'tables' | 'cluster' | 'warmStart'>;

/** Throws `JobInvalid`, with the figures. */
export function checkTables({ tables, cluster, warmStart }: Checked, { sparse }: TrainedSpec): void {
  const { shards, minPservers, replicas } = cluster;
  let memoryBytes = 0;
  for (const table of sparse) {
    const { name, width, shardBytes } = table;
    if (shardBytes === undefined) continue;
    const bytesOfRow = rowBytes(width, rowLayout(table));
    const least = LEAST_ROWS * bytesOfRow * shards;
    const maxBytes = tables[name]!.maxBytes!;
    if (shardBytes < LEAST_ROWS * bytesOfRow)
      throw new PaddletError(
        'JobInvalid',
        `tables.${name}.maxBytes: expected at least ${least} bytes (${LEAST_ROWS} rows of ${bytesOfRow} bytes in each of ${shards} shards), got ${maxBytes}`,
        { hint: 'raise maxBytes, or lower cluster.shards' },
      );
    const excess = warmStart === undefined ? 1 : 1 + LOADING_EXCESS;
    memoryBytes += maxBytes * excess * memoryFactor(bytesOfRow, hasCandidates(table));
  }
  const needed = (memoryBytes * replicas) / minPservers;
  if (needed <= PSERVER_BYTES) return;
  const least = Math.ceil((memoryBytes * replicas) / PSERVER_BYTES);
  const copies = replicas > 1 ? ` with ${replicas} copies of each shard` : '';
  throw new PaddletError(
    'JobInvalid',
    `the tables may take ${gigabytes(memoryBytes)} of memory up to their maxBytes${copies}; with cluster.minPservers ${minPservers}, a pserver would need ${gigabytes(needed)}, and it can have ${gigabytes(PSERVER_BYTES)}`,
    { hint: `set cluster.minPservers to ${least} or more, or lower maxBytes` },
  );
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
