/** Exported files appear whole or not at all: under temporary names, synced, then renamed. */
import { dirname, join } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import type { Disk, DiskFile, Random } from '../../base/seams.ts';
import { makeDurableFolder, withFile } from '../file/files.ts';
import { expectIntact } from '../set/verify.ts';
import { exportDenseCsv, exportTableCsv } from './csv.ts';
import { columnsOf, type ExportOptions, type ExportPlan, exportColumns, exportMetadata, planExport } from './export.ts';
import { createNpzSink } from './npz.ts';
import { createSafetensorsSink } from './safetensors.ts';

export const EXPORT_FORMATS = ['safetensors', 'npz', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportFileOptions extends ExportOptions {
  readonly disk: Disk;
  readonly random: Pick<Random, 'uuid'>;
  readonly format: ExportFormat;
  /** A file; for CSV a folder, unless one variable is chosen and the name ends in `.csv`. */
  readonly out: string;
  /** Replace existing files. */
  readonly replace: boolean;
}

export interface Exported {
  readonly paths: readonly string[];
  readonly tables: readonly { readonly name: string; readonly rows: number; readonly width: number }[];
  readonly dense: readonly { readonly name: string; readonly shape: readonly number[] }[];
}

/**
 * Checks the source files against damage, then writes. Throws `CheckpointCorrupt`, `CheckpointMissing`, `Usage` when
 * the output exists already, the disk's errors, the signal's reason; then no file has appeared.
 */
export async function exportFile(options: ExportFileOptions): Promise<Exported> {
  const { set, disk, signal, random } = options;
  const plan = await planExport(options);
  const targets = targetsOf(options, plan);
  for (const { path } of targets) {
    const found = await disk.inspect(path);
    if (found !== undefined && (found.kind !== 'file' || !options.replace)) {
      throw new PaddletError('Usage', `${path}: exists already`, { hint: 'another --output, or --replace' });
    }
  }
  await expectIntact(set, signal === undefined ? {} : { signal });
  const parts = targets.map((target) => ({ ...target, temporary: `${target.path}.${random.uuid()}.part` }));
  for (const folder of new Set(targets.map(({ path }) => dirname(path)))) await makeDurableFolder(disk, folder);
  try {
    for (const { temporary, write } of parts) await withFile(await disk.create(temporary), write);
    for (const { temporary, path } of parts) await disk.rename(temporary, path);
  } catch (error) {
    // The first error says what went wrong.
    for (const { temporary } of parts) await disk.remove(temporary).catch(() => undefined);
    throw error;
  }
  for (const folder of new Set(targets.map(({ path }) => dirname(path)))) await disk.syncFolder(folder);
  return {
    paths: targets.map(({ path }) => path),
    tables: plan.tables.map(({ spec: { name, width }, rows }) => ({ name, rows, width })),
    dense: plan.dense.map(({ spec: { name, shape } }) => ({ name, shape })),
  };
}

interface Target {
  readonly path: string;
  readonly write: (file: DiskFile) => Promise<void>;
}

function targetsOf(options: ExportFileOptions, plan: ExportPlan): Target[] {
  const { format, out } = options;
  if (format === 'csv') return csvTargets(options, plan);
  const create = format === 'npz' ? createNpzSink : createSafetensorsSink;
  const write = async (file: DiskFile): Promise<void> =>
    exportColumns(options, plan, await create(file, columnsOf(plan), exportMetadata(options)));
  return [{ path: out, write }];
}

/** Names as file names: what would part folders is written as in URLs. */
export const csvName = (name: string): string =>
  `${encodeURIComponent(name).replaceAll('*', '%2A').replace(/^\./, '%2E')}.csv`;

function csvTargets(options: ExportFileOptions, plan: ExportPlan): Target[] {
  const { out } = options;
  const tables = plan.tables.map((table) => ({
    name: table.spec.name,
    kind: 'sparse',
    write: (file: DiskFile) => exportTableCsv(options, table, file),
  }));
  const dense = plan.dense.map((one) => ({
    name: one.spec.name,
    kind: 'dense',
    write: (file: DiskFile) => exportDenseCsv(options, one, file),
  }));
  const all = [...tables, ...dense];
  if (all.length === 1 && out.endsWith('.csv')) return [{ path: out, write: all[0]!.write }];
  return all.map(({ name, kind, write }) => ({ path: join(out, `${kind}-${csvName(name)}`), write }));
}
