/**
 * Tables as they are stored, moved and saved: the sparse tables of the model in their order, then the candidates of
 * those whose admission rule counts. A candidate is a row without values, with a count of updates
 * (docs/decisions/0168).
 */
import { type OptimizerLayout, optimizerLayout, type TrainedTable } from './optimizer.ts';

/** What is stored of each row beside id and values. */
export interface RowLayout extends OptimizerLayout {
  readonly seen: boolean;
}

export interface StoredTable {
  readonly kind: 'sparse' | 'candidates';
  /** Of the sparse table. */
  readonly name: string;
  /** Floats in a row; 0: candidates have no values. */
  readonly width: number;
  readonly layout: RowLayout;
}

const CANDIDATE_LAYOUT: RowLayout = { slots: [], steps: true, seen: true };

export const rowLayout = ({ optimizer, hasSeen }: Pick<TrainedTable, 'optimizer' | 'hasSeen'>): RowLayout => ({
  ...optimizerLayout(optimizer),
  seen: hasSeen === true,
});

export const hasCandidates = ({ admission }: Pick<TrainedTable, 'admission'>): boolean => admission?.type === 'count';

/** A stored table is known by its place in this list. Those of the model come first, at the places that they have. */
export function storedTables(sparse: readonly TrainedTable[]): StoredTable[] {
  const rows = sparse.map((table): StoredTable => {
    return { kind: 'sparse', name: table.name, width: table.width, layout: rowLayout(table) };
  });
  const candidates = sparse.filter(hasCandidates).map(({ name }): StoredTable => {
    return { kind: 'candidates', name, width: 0, layout: CANDIDATE_LAYOUT };
  });
  return [...rows, ...candidates];
}

/** Bytes of a row with its id, without indexes. */
export const rowBytes = (width: number, { slots, steps, seen }: RowLayout): number =>
  8 + 4 * width * (1 + slots.length) + (steps ? 4 : 0) + (seen ? 4 : 0);
