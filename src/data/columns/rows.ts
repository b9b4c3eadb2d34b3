/** Rows of numbers, for models with dense inputs. */
import { assert } from '../../base/assert.ts';
import { type NumberColumn, slotsOf } from './column.ts';
import { type KnownColumns, type Normalize, normalizer, stand } from './numbers.ts';
import type { ColumnPiece } from './piece.ts';

/** The normalized numbers of each record, each with an indicator behind it if training records lack some. */
export class RowMaker {
  readonly width: number;
  readonly #columns: readonly { slot: number; normalize: Normalize; missingValue: number; hasIndicator: boolean }[];

  /** `wanted`: the columns that rows are made of, some of all. */
  constructor({ columns, statistics }: KnownColumns, wanted?: readonly NumberColumn[]) {
    const { numbers } = slotsOf(columns);
    this.#columns = (wanted ?? numbers).map((column) => {
      const slot = numbers.indexOf(column);
      const known = statistics[slot];
      assert(known?.name === column.name, 'statistics a number column');
      const normalize = normalizer(column, known);
      const hasIndicator = column.missing === 'mean' && known.missing > 0;
      return { slot, normalize, missingValue: normalize(stand(column, known)), hasIndicator };
    });
    this.width = this.#columns.reduce((sum, { hasIndicator }) => sum + (hasIndicator ? 2 : 1), 0);
  }

  /** records × width. */
  rowsOf({ records, numbers }: Pick<ColumnPiece, 'records' | 'numbers'>): Float32Array {
    const rows = new Float32Array(records * this.width);
    let input = 0;
    for (const { slot, normalize, missingValue, hasIndicator } of this.#columns) {
      const values = numbers[slot]!;
      for (let record = 0; record < records; record++) {
        const value = values[record]!;
        const at = record * this.width + input;
        rows[at] = Number.isNaN(value) ? missingValue : normalize(value);
        if (hasIndicator) rows[at + 1] = Number.isNaN(value) ? 1 : 0;
      }
      input += hasIndicator ? 2 : 1;
    }
    return rows;
  }
}
