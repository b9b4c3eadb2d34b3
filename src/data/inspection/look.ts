/** A look at a data file of any format. */
import type { DataPlace } from '../place.ts';
import { beginningOf } from './beginning.ts';
import { type DenseLook, lookAtDense } from './dense.ts';
import { hasWeights, kindOf } from './kind.ts';
import { lookAtSparse, type SparseLook } from './sparse.ts';
import { type LookOptions, lookAtTable, type TableLook } from './table.ts';

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
  const kind = kindOf(path, head);
  switch (kind) {
    case 'table':
      return {
        kind,
        ...(await lookAtTable(place, path, head, { ...rest, first: first?.kind === kind ? first : undefined })),
      };
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
