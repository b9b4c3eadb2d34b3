/** Layers that read the data: numbers as they are, and rows of tables that features look up. */
import type { Initializer } from '../../tensor/spec.ts';
import type { ModelColumn } from './columns.ts';
import { bytesOfRows, type Layer } from './layer.ts';

/** The numbers of each record: all that there are, or those of these columns. */
export function createNumbers(
  name: string,
  columns: readonly ModelColumn[] | undefined,
  { inputWidth }: { readonly inputWidth: number },
): Layer {
  const width = columns?.reduce((sum, { floats }) => sum + floats, 0) ?? inputWidth;
  return {
    name,
    width,
    dense: [],
    numbers: columns?.map((column) => column.name),
    forward(kernels, { records, data, output }) {
      const count = records * width;
      if (data.areBytes) kernels.unitsOfBytes(count, data.numbers, output);
      else kernels.copyColumns(1, count, data.numbers, count, output, count);
    },
  };
}

export interface EmbeddingOptions {
  /** Name of the table; default: the name of the layer. */
  readonly table?: string;
  /** Floats of a vector. */
  readonly vectorWidth: number;
  /** Undefined where the data has none: all features as one. */
  readonly columns?: readonly string[] | undefined;
  /** How the vectors of one column are put together. */
  readonly pooling?: 'sum' | 'mean' | undefined;
  /** Whether the columns are put together, too, or stay side by side. */
  readonly isOne?: boolean;
  readonly initializer: Initializer;
}

export function createEmbedding(
  name: string,
  { table = name, vectorWidth, columns, pooling = 'sum', isOne = columns === undefined, initializer }: EmbeddingOptions,
): Layer {
  const slots = isOne || columns === undefined ? 1 : columns.length;
  const isMean = pooling === 'mean';
  return {
    name,
    width: slots * vectorWidth,
    vectorWidth,
    dense: [],
    table: { name: table, width: vectorWidth, initializer, columns },
    scratchBytes: () => bytesOfRows(1, slots),
    forward(kernels, { records, data, output, scratch }) {
      const { offsets, rows, values, fields, table: from } = data.features!;
      const used = isOne ? 0 : fields;
      kernels.poolRows(records, offsets, rows, values, used, from, vectorWidth, slots, isMean, scratch, output);
    },
    backward(kernels, { records, data, gradient, tableGradient, scratch }) {
      const { offsets, rows, values, fields, count } = data.features!;
      kernels.poolGradient(
        records,
        offsets,
        rows,
        values,
        isOne ? 0 : fields,
        count,
        vectorWidth,
        slots,
        isMean,
        scratch,
        gradient,
        tableGradient,
      );
    },
  };
}
