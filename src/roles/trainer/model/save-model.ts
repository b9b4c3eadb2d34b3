/**
 * Writes the merged model of all pservers as one safetensors file, values only, as `paddlet checkpoint export` writes
 * it. Training continues, so each row is of some moment during the writing. It needs memory for one page of rows of
 * each pserver. The header comes first and needs the row count of each table, so rows are first written to a spool
 * file.
 */
import { failPoint } from '../../../base/fail-points.ts';
import { makeDurableFolder, withFile } from '../../../base/files.ts';
import type { Disk, DiskFile, Random } from '../../../base/seams.ts';
import {
  type ColumnSink,
  type ExportColumn,
  MODEL_FORMAT,
  MODEL_FORMAT_VERSION,
} from '../../../checkpoint/export/export.ts';
import { createSafetensorsSink } from '../../../checkpoint/export/safetensors.ts';
import type { PserverGroup } from '../../../cluster/client/pserver-group.ts';
import { scanTable } from '../../../cluster/client/row-stream.ts';
import { carriedRecord } from '../../../cluster/job/carried-record.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { Placement } from '../../../cluster/placement/placement-view.ts';
import { throwIfAborted } from '../../../cluster/waiting.ts';
import { blockShards } from '../../../tensor/blocks.ts';
import { trainedSpec } from '../../../tensor/optimizer.ts';
import type { DenseSpec, ParameterSpec, SparseSpec } from '../../../tensor/spec.ts';

const PAGE_BYTES = 1024 * 1024;

export interface SaveModelOptions {
  readonly disk: Disk;
  readonly random: Pick<Random, 'uuid'>;
  readonly group: PserverGroup;
  readonly record: JobRecord;
  readonly spec: ParameterSpec;
  /** Absolute. */
  readonly folder: string;
  /** Counted from 1. */
  readonly pass: number;
  /** Throws `Interrupted` when this trainer is no longer chosen to write the model. */
  readonly confirm: () => Promise<void>;
  readonly signal: AbortSignal;
}

export const modelFileName = (job: string, pass: number): string => `${job}-pass-${pass}.safetensors`;

/**
 * Returns the path of the file, which is complete and durable. Throws the disk's own errors and `Interrupted`; then it
 * has removed its files.
 *
 * It first removes the unfinished files of other trainers, and creates its own before it reads anything. A trainer that
 * lost the choice and resumes later cannot replace a newer model by an older one, as its file is gone.
 */
export async function saveModel(options: SaveModelOptions): Promise<string> {
  const { disk, folder, record, pass, random, group, confirm, signal } = options;
  const name = modelFileName(record.job.name, pass);
  const path = `${folder}/${name}`;
  await makeDurableFolder(disk, folder);
  await removeUnfinished(disk, folder, record.job.name, pass);
  const temporary = `${path}.${random.uuid()}.part`;
  const spool = `${path}.${random.uuid()}.rows.part`;
  try {
    await group.withPlacement(
      'saving the model',
      (placement) => writeModel(options, placement, { temporary, spool }),
      signal,
    );
    failPoint('model.written');
    await confirm();
    await disk.rename(temporary, path);
    await disk.syncFolder(folder);
  } finally {
    // An error of the removal would hide the first error.
    for (const part of [temporary, spool]) await disk.remove(part).catch(() => undefined);
  }
  return path;
}

/** Removes unfinished files of this pass, and of those before, which are no longer wanted. */
async function removeUnfinished(disk: Disk, folder: string, job: string, pass: number): Promise<void> {
  for (const found of await disk.list(folder)) {
    const unfinished = /^(.*)-pass-(\d+)\.safetensors\..+\.part$/.exec(found);
    if (unfinished === null || unfinished[1] !== job || Number(unfinished[2]) > pass) continue;
    await disk.remove(`${folder}/${found}`);
  }
}

interface Spooled {
  readonly spec: SparseSpec;
  readonly ids: ExportColumn;
  readonly values: ExportColumn;
  /** Rows of each piece in the spool file; a piece has its ids first, then its values. */
  readonly pieces: readonly number[];
  /** Offset of the first piece. */
  readonly at: number;
}

async function writeModel(
  options: SaveModelOptions,
  placement: Placement,
  { temporary, spool }: { temporary: string; spool: string },
): Promise<void> {
  const { disk, spec, record, pass } = options;
  await withFile(await disk.create(temporary), async (file) =>
    withFile(await disk.create(spool), async (rows) => {
      const tables: Spooled[] = [];
      let at = 0;
      for (const table of spec.sparse.keys()) {
        const spooled = await spoolTable(options, placement, { table, rows, at });
        tables.push(spooled);
        at += bytesOf(spooled);
      }
      const dense = spec.dense.map((one): ExportColumn => {
        return { name: `dense/${one.name}/values`, dtype: 'F32', shape: one.shape };
      });
      const columns = [...tables.map(({ ids }) => ids), ...tables.map(({ values }) => values), ...dense];
      const metadata = {
        format: MODEL_FORMAT,
        formatVersion: MODEL_FORMAT_VERSION,
        jobId: record.id,
        jobName: record.job.name,
        parameters: JSON.stringify(trainedSpec(spec, record.job)),
        seed: String(record.job.training.seed),
        state: 'false',
        shards: String(record.job.cluster.shards),
        pass: String(pass),
        job: carriedRecord(record),
      };
      const sink = await createSafetensorsSink(file, columns, metadata);
      for (const table of tables) await copySpooled(rows, table, sink);
      for (const [parameter, column] of dense.entries()) {
        await writeDense(options, placement, { parameter, column, sink });
      }
      await sink.finish();
      await file.sync();
    }),
  );
}

const bytesOf = ({ spec, pieces }: Spooled): number =>
  pieces.reduce((sum, count) => sum + count, 0) * (8 + 4 * spec.width);

async function spoolTable(
  { group, spec, signal }: SaveModelOptions,
  placement: Placement,
  { table, rows, at }: { table: number; rows: DiskFile; at: number },
): Promise<Spooled> {
  const { name, width } = spec.sparse[table]!;
  const maxRows = Math.max(1, Math.floor(PAGE_BYTES / (8 + 4 * width)));
  const ids = new Uint8Array(8 * maxRows);
  const values = new Uint8Array(4 * width * maxRows);
  const pieces: number[] = [];
  let held = 0;
  let end = at;
  const flush = async (): Promise<void> => {
    throwIfAborted(signal);
    await rows.write(ids.subarray(0, 8 * held), end);
    await rows.write(values.subarray(0, 4 * width * held), end + 8 * held);
    end += held * (8 + 4 * width);
    pieces.push(held);
    held = 0;
  };
  await scanTable(group, placement, { table, state: false, maxRows }, (row) => {
    ids.set(row.idBytes(), 8 * held);
    values.set(row.values(), 4 * width * held);
    held += 1;
    return held === maxRows ? flush() : undefined;
  });
  if (held > 0) await flush();
  const total = pieces.reduce((sum, count) => sum + count, 0);
  return {
    spec: spec.sparse[table]!,
    ids: { name: `sparse/${name}/ids`, dtype: 'U64', shape: [total] },
    values: { name: `sparse/${name}/values`, dtype: 'F32', shape: [total, width] },
    pieces,
    at,
  };
}

async function copySpooled(
  rows: DiskFile,
  { spec, ids, values, pieces, at }: Spooled,
  sink: ColumnSink,
): Promise<void> {
  let from = at;
  for (const count of pieces) {
    const bytes = new Uint8Array(count * (8 + 4 * spec.width));
    const read = await rows.read(bytes, from);
    if (read !== bytes.length) {
      throw Object.assign(new Error('EIO: the spooled rows are shorter than written'), { code: 'EIO' });
    }
    await sink.write(ids, bytes.subarray(0, 8 * count));
    await sink.write(values, bytes.subarray(8 * count));
    from += bytes.length;
  }
}

async function writeDense(
  { group, spec, record, signal }: SaveModelOptions,
  placement: Placement,
  { parameter, column, sink }: { parameter: number; column: ExportColumn; sink: ColumnSink },
): Promise<void> {
  const dense: DenseSpec = spec.dense[parameter]!;
  const owners = blockShards(dense, record.job.cluster.shards);
  for (let block = 0; block < owners.length; block++) {
    throwIfAborted(signal);
    const owner = placement.pservers[placement.primaryOf[owners[block]!]!]!;
    const reply = await group.ask(owner, 'scanBlock', { parameter, block, state: false });
    try {
      await sink.write(column, reply.segment(0));
    } finally {
      reply.free();
    }
  }
}
