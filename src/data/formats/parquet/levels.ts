/** The levels of a page: which rows and lists its values are of, and what is null. */
import { Fault } from './fault.ts';
import { decodeHybrid } from './hybrid.ts';
import type { DataPage } from './pages.ts';
import type { Leaf } from './schema.ts';
import { lengthAt } from './values.ts';

export interface PageLevels {
  /** Entries of the page: an empty list is one, too. */
  readonly count: number;
  /** For lists: 0 where a row begins. */
  readonly repetitions?: Uint8Array;
  readonly definitions?: Uint8Array;
  /** Rows, or elements of lists. */
  readonly elements: number;
  /** Number of these that are not null. */
  readonly values: number;
  /** For each element, 1 or 0; absent if none can be null. */
  readonly present?: Uint8Array;
  /** The values behind the levels. */
  readonly content: Uint8Array;
}

/** `content`: of the page, decompressed. Throws a `Fault`. */
export function levelsOf(page: DataPage, content: Uint8Array, leaf: Leaf): PageLevels {
  const count = page.values;
  const [most, isList] = [leaf.definition, leaf.element !== undefined];
  let rest = content;
  const next = (maximum: number, bytes: Uint8Array | undefined): Uint8Array => {
    let runs = bytes;
    if (runs === undefined) {
      const end = 4 + lengthAt(rest, 0);
      runs = rest.subarray(4, end);
      rest = rest.subarray(end);
    }
    return decodedLevels(runs, maximum, count);
  };
  const isApart = page.kind === 'v2';
  const split = isApart ? page.repetitionBytes : 0;
  const repetitions = isList ? next(1, isApart ? page.body.subarray(0, split) : undefined) : undefined;
  const apart = isApart ? page.body.subarray(split, split + page.definitionBytes) : undefined;
  const definitions = most > 0 ? next(most, apart) : undefined;
  const base = { count, content: rest, ...(repetitions === undefined ? {} : { repetitions }) };
  if (definitions === undefined) return { ...base, elements: count, values: count };
  return { ...base, definitions, ...presence(definitions, leaf) };
}

function decodedLevels(runs: Uint8Array, maximum: number, count: number): Uint8Array {
  const levels = new Uint8Array(count);
  decodeHybrid(runs, 32 - Math.clz32(maximum), levels, 0, count);
  let largest = 0;
  for (let at = 0; at < count; at++) if (levels[at]! > largest) largest = levels[at]!;
  if (largest > maximum) throw new Fault(`it has a level ${largest}, above ${maximum}`);
  return levels;
}

function presence(
  definitions: Uint8Array,
  { definition, element = 0 }: Leaf,
): Pick<PageLevels, 'elements' | 'values' | 'present'> {
  const present = new Uint8Array(definitions.length);
  let [elements, values] = [0, 0];
  for (let at = 0; at < definitions.length; at++) {
    const level = definitions[at]!;
    const isPresent = level === definition ? 1 : 0;
    present[elements] = isPresent;
    values += isPresent;
    if (level >= element) elements += 1;
  }
  return { elements, values, present: present.subarray(0, elements) };
}
