/**
 * Tables as they are stored, moved and saved: the sparse tables of the model in their order, then the candidates of
 * those whose admission rule counts. A candidate is a row without values, with a count of updates
 * (docs/decisions/0168).
 */
import { type OptimizerLayout, optimizerLayout, type TrainedTable } from './optimizer.ts';

/** The fields of a stored row, besides id and values. */
export interface RowLayout extends OptimizerLayout {
  readonly seen: boolean;
}

export interface StoredTable {
  readonly kind: 'sparse' | 'candidates';
  /** Name of the sparse table. */
  readonly name: string;
  /** Number of values of a row; 0 for candidates. */
  readonly width: number;
  readonly layout: RowLayout;
}

const CANDIDATE_LAYOUT: RowLayout = { slots: [], steps: true, seen: true };

export const rowLayout = ({ optimizer, hasSeen }: Pick<TrainedTable, 'optimizer' | 'hasSeen'>): RowLayout => ({
  ...optimizerLayout(optimizer),
  seen: hasSeen === true,
});

export const hasCandidates = ({ admission }: Pick<TrainedTable, 'admission'>): boolean => admission?.type === 'count';

/**
 * Stored tables are numbered by their places in this list. The tables of the model come first, so they keep their
 * numbers.
 */
export const storedTables = (sparse: readonly TrainedTable[]): StoredTable[] => [
  ...sparse.map(rowsOf),
  ...sparse.filter(hasCandidates).map(candidatesOf),
];

/** Returns the table at this place of `storedTables`; undefined if there is none. */
export function storedTable(sparse: readonly TrainedTable[], place: number): StoredTable | undefined {
  const table = sparse[place];
  return table === undefined ? storedTables(sparse)[place] : rowsOf(table);
}

/** Returns the place of a table in `storedTables`, or -1 if that list does not have it. */
export const placeOf = (
  { sparse }: { readonly sparse: readonly TrainedTable[] },
  kind: StoredTable['kind'],
  name: string,
): number => storedTables(sparse).findIndex((one) => one.kind === kind && one.name === name);

const rowsOf = (table: TrainedTable): StoredTable => {
  return { kind: 'sparse', name: table.name, width: table.width, layout: rowLayout(table) };
};

const candidatesOf = ({ name }: TrainedTable): StoredTable => {
  return { kind: 'candidates', name, width: 0, layout: CANDIDATE_LAYOUT };
};

/** Bytes of a row with its id, without indexes. */
export const rowBytes = (width: number, { slots, steps, seen }: RowLayout): number =>
  8 + 4 * width * (1 + slots.length) + (steps ? 4 : 0) + (seen ? 4 : 0);
