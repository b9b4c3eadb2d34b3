/** `checkpoint diff`: two checkpoints side by side, both read in the order of ids. Bounded memory. */
import type { ShardRows } from '../../tensor/parameters.ts';
import { VALUES_ONLY } from '../file/row-pieces.ts';
import type { CheckpointSet, Variables } from './checkpoint-set.ts';
import { blocksInOrder } from './inspect.ts';
import { mergeRows } from './merge.ts';
import { RowCursor } from './row-cursor.ts';

export interface TableDiff {
  readonly name: string;
  readonly rowsBefore: number;
  readonly rowsAfter: number;
  readonly added: number;
  readonly removed: number;
  /** Rows in both with other values (all NaN are alike; 0 and -0 are not). */
  readonly changed: number;
  /** Euclidean distance over the rows in both. NaN when a value is. */
  readonly distance: number;
}

export interface DenseDiff {
  readonly name: string;
  readonly elements: number;
  readonly changed: number;
  readonly distance: number;
}

export interface CheckpointDiff {
  readonly same: boolean;
  readonly tables: readonly TableDiff[];
  readonly dense: readonly DenseDiff[];
  /** Variables that are in one only, or of another shape: `emb: width 8 and 16`. */
  readonly unlike: readonly string[];
}

export interface DiffOptions {
  readonly before: CheckpointSet;
  readonly after: CheckpointSet;
  /** Variables of `before` to compare; those that only `after` has are reported anyway. */
  readonly variables: Variables;
  readonly signal?: AbortSignal;
  readonly onBytes?: (bytes: number) => void;
}

/** Compares values; optimizer state is left out. Throws `CheckpointCorrupt`, and the signal's reason. */
export async function diffCheckpoints(options: DiffOptions): Promise<CheckpointDiff> {
  const { before, after, variables } = options;
  const [old, now] = [before.facts.parameters, after.facts.parameters];
  const unlike: string[] = [];
  const tables: TableDiff[] = [];
  const dense: DenseDiff[] = [];
  for (const table of variables.sparse) {
    const { name, width } = old.sparse[table]!;
    const other = now.sparse.findIndex((spec) => spec.name === name);
    const found = now.sparse[other];
    if (found === undefined) unlike.push(`${name}: only before`);
    else if (found.width !== width) unlike.push(`${name}: width ${width} and ${found.width}`);
    else tables.push(await diffTable(options, { name, width, table, other }));
  }
  for (const parameter of variables.dense) {
    const { name, shape } = old.dense[parameter]!;
    const other = now.dense.findIndex((spec) => spec.name === name);
    const found = now.dense[other];
    if (found === undefined) unlike.push(`${name}: only before`);
    else if (found.shape.join() !== shape.join()) unlike.push(`${name}: shape [${shape}] and [${found.shape}]`);
    else dense.push({ name, ...(await diffDense(options, parameter, other)) });
  }
  const known = new Set([...old.sparse, ...old.dense].map(({ name }) => name));
  for (const { name } of [...now.sparse, ...now.dense]) if (!known.has(name)) unlike.push(`${name}: only after`);
  const same =
    unlike.length === 0 &&
    dense.every(({ changed }) => changed === 0) &&
    tables.every(({ added, removed, changed }) => added + removed + changed === 0);
  return { same, tables, dense, unlike };
}

interface TablePair {
  readonly name: string;
  readonly width: number;
  readonly table: number;
  readonly other: number;
}

async function diffTable(options: DiffOptions, { name, width, table, other }: TablePair): Promise<TableDiff> {
  const merge = { width, state: VALUES_ONLY };
  const a = new RowCursor(mergeRows({ ...merge, shards: options.before.shards, table }), passedOf(options));
  const b = new RowCursor(mergeRows({ ...merge, shards: options.after.shards, table: other }), passedOf(options));
  await a.step();
  await b.step();
  let [added, removed, changed, squares] = [0, 0, 0, 0];
  while (!a.isAtEnd() || !b.isAtEnd()) {
    const order = a.compare(b);
    if (order < 0) removed += 1;
    else if (order > 0) added += 1;
    else {
      const distance = distanceOf(a.rows.values, a.at * width, b.rows.values, b.at * width, width);
      squares += distance.squares;
      if (distance.changed > 0) changed += 1;
    }
    // Most rows are in a piece that is there: waiting for each would cost more than the comparison.
    if (order <= 0 && !a.skip()) await a.step();
    if (order >= 0 && !b.skip()) await b.step();
  }
  return {
    name,
    rowsBefore: a.count,
    rowsAfter: b.count,
    added,
    removed,
    changed,
    distance: Math.sqrt(squares),
  };
}

/** Called with each batch that has been compared. */
const passedOf =
  ({ onBytes, signal }: DiffOptions) =>
  ({ values }: ShardRows): void => {
    onBytes?.(values.byteLength);
    signal?.throwIfAborted();
  };

function distanceOf(
  a: Float32Array,
  aFrom: number,
  b: Float32Array,
  bFrom: number,
  count: number,
): { squares: number; changed: number } {
  let squares = 0;
  let changed = 0;
  for (let at = 0; at < count; at++) {
    const [one, other] = [a[aFrom + at]!, b[bFrom + at]!];
    if (Object.is(one, other)) continue;
    changed += 1;
    if (one !== other) squares += (one - other) ** 2;
  }
  return { squares, changed };
}

async function diffDense(options: DiffOptions, parameter: number, other: number): Promise<Omit<DenseDiff, 'name'>> {
  const [before, after] = [blocksInOrder(options.before, parameter), blocksInOrder(options.after, other)];
  let [elements, changed, squares] = [0, 0, 0];
  for (;;) {
    options.signal?.throwIfAborted();
    const [a, b] = [await before.next(), await after.next()];
    if (a.done === true || b.done === true) return { elements, changed, distance: Math.sqrt(squares) };
    const { values } = a.value;
    const distance = distanceOf(values, 0, b.value.values, 0, values.length);
    elements += values.length;
    changed += distance.changed;
    squares += distance.squares;
  }
}
