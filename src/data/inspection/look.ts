/** A look at a data file of any format. */
import { openContent } from '../bytes/content.ts';
import type { DataPlace } from '../place.ts';
import { type Beginning, beginningOf } from './beginning.ts';
import { type DenseLook, lookAtDense } from './dense.ts';
import { fieldsTable } from './fields-table.ts';
import { jsonTable } from './json-table.ts';
import { hasWeights, kindOf } from './kind.ts';
import { parquetTable } from './parquet-table.ts';
import { lookAtSparse, type SparseLook } from './sparse.ts';
import { type LookOptions, lookAtTable, type TableLook } from './table.ts';
import type { TableSource } from './table-source.ts';

export type Look =
  | ({ readonly kind: 'table' } & TableLook)
  | ({ readonly kind: 'libsvm' | 'libffm' } & SparseLook)
  | ({ readonly kind: 'idx' } & DenseLook);

export interface AnyLookOptions extends Omit<LookOptions, 'first'> {
  /** A file that it is compared with. */
  readonly first?: Look | undefined;
}

/** Throws as `openContent`, and `DataInvalid` when paddlet cannot read such a file. */
export async function lookAt(place: DataPlace, path: string, options: AnyLookOptions = {}): Promise<Look> {
  const head = await beginningOf(place, path);
  const { first, ...rest } = options;
  const { onBytes = () => {} } = rest;
  const ofTable = async (source: TableSource): Promise<Look> => {
    return {
      kind: 'table',
      ...(await lookAtTable(source, { ...rest, first: first?.kind === 'table' ? first : undefined })),
    };
  };
  const kind = kindOf(path, head);
  switch (kind) {
    case 'fields':
      return await ofTable(fieldsTable(place, path, head, onBytes));
    case 'jsonl':
      return await ofTable(jsonTable(place, path, head, onBytes));
    case 'parquet': {
      const content = await openContent(place, path, true);
      try {
        return await ofTable(await parquetTable(content, rest.records ?? Number.POSITIVE_INFINITY, onBytes));
      } finally {
        await content.file.close();
      }
    }
    case 'libsvm':
    case 'libffm': {
      const sparse = {
        ...rest,
        format: kind,
        hasWeights: hasWeights(kind, head.bytes),
        first: first?.kind === kind ? first : undefined,
      };
      return { kind, ...(await lookAtSparse(place, path, sparse)) };
    }
    case 'idx':
      return { kind, ...(await lookAtDense(place, path)) };
  }
}

/** Looks at the first file that has records: the first part of Spark is often empty. Throws as `lookAt`. */
export async function lookAtFirstOf(
  place: DataPlace,
  paths: readonly string[],
  options: AnyLookOptions = {},
): Promise<Look> {
  return (await firstFilled(place, paths, (path) => lookAt(place, path, options))).look;
}

/** `look` is of the last file if none has records. */
export async function firstFilled<L extends { readonly records: number }>(
  place: DataPlace,
  paths: readonly string[],
  lookAtOne: (path: string) => Promise<L>,
): Promise<{ readonly path: string; readonly look: L }> {
  const [path = '', ...others] = paths;
  if (others.length > 0 && isBlank(await beginningOf(place, path))) return firstFilled(place, others, lookAtOne);
  const look = await lookAtOne(path);
  return look.records > 0 || others.length === 0 ? { path, look } : firstFilled(place, others, lookAtOne);
}

const isBlank = ({ bytes, isWhole }: Beginning): boolean =>
  isWhole && Buffer.from(bytes).toString('latin1').trim() === '';
