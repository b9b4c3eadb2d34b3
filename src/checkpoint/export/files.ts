/** Exported files appear whole or not at all. */
import { join } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import { isAbsent } from '../../base/files.ts';
import type { DiskFile, Random, Storage } from '../../base/seams.ts';
import { corrupt } from '../file/files.ts';
import { expectIntact } from '../set/verify.ts';
import { exportDenseCsv, exportTableCsv } from './csv.ts';
import { columnsOf, type ExportOptions, type ExportPlan, exportColumns, exportMetadata, planExport } from './export.ts';
import { NOT_AS_WRITTEN, withModelFile } from './model-file.ts';
import { createNpzSink } from './npz.ts';
import { createSafetensorsSink } from './safetensors.ts';

export const EXPORT_FORMATS = ['safetensors', 'npz', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportFileOptions extends ExportOptions {
  readonly storage: Storage;
  readonly random: Pick<Random, 'uuid'>;
  readonly format: ExportFormat;
  /** A file; for CSV a folder, unless one variable is chosen and the name ends in `.csv`. */
  readonly out: string;
  /** Replace existing files. */
  readonly replace: boolean;
}

export interface Exported {
  readonly paths: readonly string[];
  readonly tables: readonly {
    readonly name: string;
    readonly rows: number;
    readonly width: number;
    /** Only if a file was compared: ids that only the earlier export has. */
    readonly gone?: number;
  }[];
  readonly dense: readonly { readonly name: string; readonly shape: readonly number[] }[];
}

/**
 * Checks the source files against damage, then writes. Throws `CheckpointCorrupt`, `CheckpointMissing`, `Usage` when
 * the output exists already, the disk's errors, the signal's reason; then no new file appears.
 */
export async function exportFile(options: ExportFileOptions): Promise<Exported> {
  const { set, storage, signal, random } = options;
  const plan = await planExport(options);
  const targets = targetsOf(options, plan);
  const replaced = new Set<string>();
  for (const { path } of targets) {
    if (!(await isThere(storage, path))) continue;
    if (!options.replace) {
      throw new PaddletError('Usage', `${path}: exists already`, { hint: 'another --output, or --replace' });
    }
    replaced.add(path);
  }
  await expectIntact(set, signal === undefined ? {} : { signal });
  const made: string[] = [];
  try {
    for (const { path, write } of targets) {
      const spool = `${path}.${random.uuid()}.part`;
      await storage.put(path, { spool, replaces: replaced.has(path), write: (file) => sized(file, write), signal });
      made.push(path);
    }
  } catch (error) {
    // The first error says what went wrong.
    for (const path of made) if (!replaced.has(path)) await storage.delete(path).catch(() => undefined);
    throw error;
  }
  return {
    paths: targets.map(({ path }) => path),
    tables: plan.tables.map(({ spec: { name, width }, rows, gone }) => {
      return { name, rows, width, ...(gone && { gone: gone.shape[0]! }) };
    }),
    dense: plan.dense.map(({ spec: { name, shape } }) => ({ name, shape })),
  };
}

/** Exports what has changed since the export at a path, which is checked against damage. Throws like `exportFile`. */
export const exportSince = (options: ExportFileOptions, path: string): Promise<Exported> =>
  withModelFile(options.storage, path, async (model) => {
    const [damaged] = await model.damaged();
    if (damaged !== undefined) throw corrupt(path, `${damaged}: ${NOT_AS_WRITTEN}`);
    return exportFile({ ...options, since: model.asEarlier() });
  });

/** Returns whether the path has a file. Throws `Usage` if it has a folder, a pipe or a device. */
async function isThere(storage: Storage, path: string): Promise<boolean> {
  try {
    await (await storage.openRange(path)).close();
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw new PaddletError('Usage', `${path}: exists already, and cannot be replaced`, {
      hint: 'choose another --output',
      cause: error,
    });
  }
}

async function sized(file: DiskFile, write: Target['write']): Promise<{ readonly bytes: number }> {
  await write(file);
  return { bytes: await file.size() };
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
