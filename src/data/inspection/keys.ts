/** What columns of nested values are called, and how a job finds them. Pure. */
import { LIMITS } from '../../base/limits.ts';
import type { SourceColumn } from './table-source.ts';

export const TOO_DEEP = `its path has more than ${LIMITS.pathKeys} keys`;

type Named = Pick<SourceColumn, 'name' | 'hasName' | 'path' | 'unreadable'>;

/** `keys`: from the outermost one to that of the value. */
export function namedBy(keys: readonly string[]): Named {
  const name = keys.join('.');
  const unreadable = faultOf(keys, name);
  const path = keys.length > 1 ? name : undefined;
  return { name: name.slice(0, LIMITS.columnNameCharacters), hasName: true, path, unreadable };
}

function faultOf(keys: readonly string[], name: string): string | undefined {
  if (keys.includes('')) return 'no path has an empty key';
  if (name.length > LIMITS.columnNameCharacters)
    return `its path has more than ${LIMITS.columnNameCharacters} characters`;
  if (keys.length > LIMITS.pathKeys) return TOO_DEEP;
  if (!name.isWellFormed()) return 'a key has an incomplete character';
  return keys.length > 1 && keys.some((key) => key.includes('.')) ? 'no path has a key with a dot' : undefined;
}

/** Names that differ: a path may look like the name of another column, which is found by that name. */
export function withOwnNames<C extends Named>(columns: readonly C[]): C[] {
  const taken = new Set(columns.filter(({ path }) => path === undefined).map(({ name }) => name));
  return columns.map((column) => {
    if (column.path === undefined) return column;
    let { name } = column;
    while (taken.has(name)) name += '_';
    taken.add(name);
    return { ...column, name };
  });
}
