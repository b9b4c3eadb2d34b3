/** The inputs of batches of columns: which columns are of which, and what makes them. */
import { assert } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import type { ModelColumn } from '../../model/layers/columns.ts';
import type { ColumnInputs, Model } from '../../model/model.ts';
import { type Column, makesFeatures, slotsOf } from './column.ts';
import { FeatureMaker } from './features.ts';
import { groupsBy } from './groups.ts';
import type { KnownColumns } from './numbers.ts';
import type { ColumnPiece } from './piece.ts';
import { RowMaker } from './rows.ts';

/** Names that a hint lists. */
const SHOWN_NAMES = 20;

export interface UsedColumns extends KnownColumns {
  /** What the model takes. */
  readonly input: Model['input'];
  /** Whether it reads the fields of features. */
  readonly readsFields?: boolean | undefined;
  /** Inputs of a model with input `columns`. */
  readonly reads?: ColumnInputs | undefined;
  /** The category whose value is the group of a record. */
  readonly groupBy?: string | undefined;
}

export interface InputMakers {
  /** The maker of each sparse input. */
  readonly features: readonly FeatureMaker[];
  readonly hasFields: boolean;
  /** The maker of the dense input, if there is one. */
  readonly rows: RowMaker | undefined;
  /** What a record takes at most in all inputs, besides ids of lists. */
  readonly perRecord: number;
  /** Groups that are values of a column: u32 halves. */
  readonly groupsOf: ((piece: ColumnPiece) => Uint32Array) | undefined;
}

/** By the columns, which are the same object for all tasks of a job: ids are worked out once. */
const made = new WeakMap<UsedColumns, InputMakers>();

export function makersOf(used: UsedColumns): InputMakers {
  const makers = made.get(used) ?? newMakers(used);
  made.set(used, makers);
  return makers;
}

function newMakers(used: UsedColumns): InputMakers {
  const { columns, input, readsFields = false } = used;
  const { sparse, numbers } = readsOf(used);
  const sets = sparse.map((names) => named(columns, names));
  const rows = numbers.length === 0 ? undefined : rowsOf(used, numbers);
  const inSets = sets.reduce((sum, set) => sum + 2 * slotsOf(set).numbers.length + set.length, 0);
  return {
    features: sets.map((set) => new FeatureMaker(used, set)),
    hasFields: readsFields || input === 'columns',
    rows,
    perRecord: inSets + (rows?.width ?? 0),
    groupsOf: used.groupBy === undefined ? undefined : groupsBy(columns, used.groupBy),
  };
}

/** Makes the rows of a dense input. */
export const rowsOf = (known: KnownColumns, names: readonly string[]): RowMaker =>
  new RowMaker(known, slotsOf(named(known.columns, names)).numbers);

/**
 * The columns of each input. A model of sparse input takes the features of all columns at once, one of dense input all
 * numbers.
 */
export function readsOf({ columns, input, reads }: Pick<UsedColumns, 'columns' | 'input' | 'reads'>): ColumnInputs {
  const names = (of: readonly Column[]): string[] => of.map(({ name }) => name);
  if (input === 'sparse') return { sparse: [names(columns.filter(makesFeatures))], numbers: [] };
  if (input === 'dense') return { sparse: [], numbers: names(slotsOf(columns).numbers) };
  assert(reads !== undefined, 'a model of columns says which ones it reads');
  return reads;
}

function named(columns: readonly Column[], names: readonly string[]): Column[] {
  const known = new Map(columns.map((column) => [column.name, column]));
  return names.map((name) => {
    const column = known.get(name);
    assert(column !== undefined, 'a model reads columns that there are');
    return column;
  });
}

/** As models see them. Without statistics numbers have no indicators: the job alone says their names and kinds. */
export function modelColumnsOf(columns: readonly Column[], statistics?: KnownColumns['statistics']): ModelColumn[] {
  return columns.filter(makesFeatures).map((column): ModelColumn => {
    const { name, type } = column;
    if (type === 'cross') return { name, kind: 'cross', floats: 0 };
    if (type !== 'number' || column.quantiles !== undefined) return { name, kind: 'category', floats: 0 };
    const floats = statistics === undefined ? 1 : rowsOf({ columns, statistics }, [name]).width;
    return { name, kind: 'number', floats };
  });
}

/** Throws `DataInvalid` where a model reads what these columns do not give it. */
export function checkReads({ sparse, numbers }: ColumnInputs, columns: readonly Column[]): void {
  const isNumber = (column: Column): boolean => column.type === 'number' && column.quantiles === undefined;
  for (const [input, names] of sparse.entries()) checkNames(`reads.sparse[${input}]`, names, columns, makesFeatures);
  checkNames('reads.numbers', numbers, columns, isNumber);
}

/** Each name is there once, and is that of a column that fits. */
function checkNames(
  path: string,
  names: readonly string[],
  columns: readonly Column[],
  fits: (column: Column) => boolean,
): void {
  const known = new Map(columns.map((column) => [column.name, column]));
  const seen = new Set<string>();
  for (const [place, name] of names.entries()) {
    const column = known.get(name);
    const fault = seen.has(name)
      ? `the column ${name} is named twice`
      : column === undefined
        ? `the job does not have a column ${name}`
        : fits(column)
          ? undefined
          : `the column ${name} is of type ${column.type}${column.type === 'number' ? ' with quantiles' : ''}`;
    seen.add(name);
    if (fault === undefined) continue;
    const possible = columns.filter(fits).map((one) => one.name);
    const more = possible.length > SHOWN_NAMES ? ` and ${possible.length - SHOWN_NAMES} more` : '';
    const hint = `expected columns of data.columns, each once: ${possible.slice(0, SHOWN_NAMES).join(', ')}${more}`;
    throw new PaddletError('DataInvalid', `${path}[${place}]: ${fault}`, { hint });
  }
}
