/** Columns of a job that no record of some data has: a key that is misspelled or renamed, as a rule. */
import { PaddletError } from '../base/errors.ts';

const SHOWN_NAMES = 10;

export const namesOf = (columns: readonly string[]): string => {
  const more = columns.length - SHOWN_NAMES;
  const names = columns.slice(0, SHOWN_NAMES).join(', ');
  return `column${columns.length === 1 ? '' : 's'} ${names}${more > 0 ? ` and ${more} more` : ''}`;
};

/** The hint for all of them. */
export const COMPARE_KEYS = 'compare the name or the path of the column in data.columns with the keys in the file';

export interface AbsentColumns {
  /** Where, for messages: a path, `the test records`. */
  readonly where: string;
  /** Columns that no record has a value of. */
  readonly absent: readonly string[];
  /** Columns that every training record has a value of. */
  readonly complete: readonly string[];
  /** What became of the scores, if some were written already. */
  readonly written?: string | undefined;
}

/** Throws `DataInvalid` if no training record has a value, and no file says that there is such a column. */
export function refuseUntrained({ hasOwnKeys }: { readonly hasOwnKeys?: true }, absent: readonly string[]): void {
  if (absent.length === 0 || hasOwnKeys !== true) return;
  throw new PaddletError('DataInvalid', `no record of the training files has a value for ${namesOf(absent)}`, {
    hint: `${COMPARE_KEYS}, or remove the column from the job`,
  });
}

/** Throws `DataInvalid` if the model has never seen that such a column is missing. */
export function refuseAbsent({ where, absent, complete, written }: AbsentColumns): void {
  const refused = absent.filter((column) => complete.includes(column));
  if (refused.length === 0) return;
  const what = `no record of ${where} has a value for ${namesOf(refused)}, but every training record has one`;
  throw new PaddletError('DataInvalid', written === undefined ? what : `${what}; ${written}`, { hint: COMPARE_KEYS });
}
