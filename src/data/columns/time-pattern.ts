/** Patterns of times, such as `dd/MM/yyyy HH:mm`: each of their fields has its digits, so all of it has its place. */

const FIELDS = ['yyyy', 'MM', 'dd', 'HH', 'mm', 'ss', 'SSS'] as const;
type Field = (typeof FIELDS)[number];
/** Each field needs the one it is worth less than. */
const NEEDS: Partial<Record<Field, Field>> = { mm: 'HH', ss: 'mm', SSS: 'ss' };

export interface TimePattern {
  /** Length in bytes. */
  readonly length: number;
  /** Where the digits of each field begin. */
  readonly fields: Readonly<Partial<Record<Field, number>>>;
  readonly literals: readonly { readonly at: number; readonly byte: number }[];
}

/** Splits a pattern into runs of the same letter, and runs without letters. */
const partsOf = (text: string): string[] => text.match(/([A-Za-z])\1*|[^A-Za-z]+/g) ?? [];

const isField = (part: string): part is Field => FIELDS.some((field) => field === part);

/** What is wrong with a pattern; undefined when nothing is. */
export function patternFault(text: string): string | undefined {
  const parts = partsOf(text);
  const other = parts.find((part) => /^[A-Za-z]/.test(part) && !isField(part));
  if (other !== undefined) {
    return `expected iso, unix, unixMs, or a pattern of yyyy, MM, dd, HH, mm, ss and SSS: ${other} is not supported`;
  }
  const fields = parts.filter(isField);
  const twice = fields.find((field, at) => fields.indexOf(field) < at);
  if (twice !== undefined) return `${twice} occurs twice`;
  for (const field of ['yyyy', 'MM', 'dd'] as const) {
    if (!fields.includes(field)) return `expected ${field} in the pattern`;
  }
  for (const field of fields) {
    const needed = NEEDS[field];
    if (needed !== undefined && !fields.includes(needed)) return `${field} needs ${needed}`;
  }
  return /^[ \t]|[ \t]$/.test(text) ? 'remove the blanks around the pattern' : undefined;
}

/** The fields of a pattern that has been checked. */
export function patternOf(text: string): TimePattern {
  const fields: Partial<Record<Field, number>> = {};
  const literals: { at: number; byte: number }[] = [];
  let length = 0;
  for (const part of partsOf(text)) {
    const bytes = Buffer.from(part);
    if (isField(part)) fields[part] = length;
    else bytes.forEach((byte, at) => void literals.push({ at: length + at, byte }));
    length += bytes.length;
  }
  return { length, fields, literals };
}
