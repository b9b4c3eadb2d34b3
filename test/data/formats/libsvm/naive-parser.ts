/**
 * The libsvm format as one would write it in a minute, with strings and BigInts: what the fast parser is checked
 * against.
 */
export interface NaiveRecord {
  readonly line: number;
  /** Undefined when the record is bad. */
  readonly good: { readonly label: number; readonly features: readonly (readonly [bigint, number])[] } | undefined;
}

export function parseNaively(text: string): NaiveRecord[] {
  const records: NaiveRecord[] = [];
  text.split('\n').forEach((raw, at) => {
    const tokens = raw
      .replace(/#.*$/s, '')
      .split(/[ \t\r]+/)
      .filter((token) => token !== '');
    if (tokens.length > 0) records.push({ line: at + 1, good: parseTokens(tokens) });
  });
  return records;
}

function parseTokens([first = '', ...rest]: string[]): NaiveRecord['good'] {
  const label = new Map([
    [1, 1],
    [0, 0],
    [-1, 0],
  ]).get(numberOf(first));
  if (label === undefined) return undefined;
  const features: [bigint, number][] = [];
  for (const token of rest) {
    const match = /^(\d+):(.*)$/s.exec(token);
    if (match === null) return undefined;
    const id = BigInt(match[1]!);
    const value = Math.fround(numberOf(match[2]!));
    if (id >= 1n << 64n || !Number.isFinite(value)) return undefined;
    features.push([id, value]);
  }
  return { label, features };
}

const numberOf = (text: string): number =>
  /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
