/**
 * The formats libsvm and libffm as one would write them in a minute, with strings and BigInts: what the fast parser is
 * checked against.
 */
export interface NaiveRecord {
  readonly line: number;
  /** Undefined when the record is bad. */
  readonly good:
    | {
        readonly label: number;
        readonly weight: number;
        readonly group: bigint;
        readonly features: readonly (readonly [bigint, number])[];
        /** Of each feature, in libffm. */
        readonly fields?: readonly number[];
      }
    | undefined;
}

export function parseNaively(text: string, mayHaveWeight = false, hasFields = false): NaiveRecord[] {
  const records: NaiveRecord[] = [];
  text.split('\n').forEach((raw, at) => {
    const tokens = raw
      .replace(/#.*$/s, '')
      .split(/[ \t\r]+/)
      .filter((token) => token !== '');
    if (tokens.length > 0) records.push({ line: at + 1, good: parseTokens(tokens, mayHaveWeight, hasFields) });
  });
  return records;
}

const NO_GROUP = 2n ** 64n - 1n;

function parseTokens([first = '', ...rest]: string[], mayHaveWeight: boolean, hasFields: boolean): NaiveRecord['good'] {
  const [labelText = '', ...weightTexts] = mayHaveWeight ? first.split(':') : [first];
  const exact = weightTexts.length === 0 ? 1 : numberOf(weightTexts.join(':'));
  const weight = Math.fround(exact);
  if (!(exact >= 0 && Number.isFinite(weight))) return undefined;
  let group = NO_GROUP;
  if (rest[0]?.startsWith('qid:')) {
    const digits = rest.shift()!.slice(4);
    if (!/^\d+$/.test(digits) || BigInt(digits) >= NO_GROUP) return undefined;
    group = BigInt(digits);
  }
  const label = new Map([
    [1, 1],
    [0, 0],
    [-1, 0],
  ]).get(numberOf(labelText));
  if (label === undefined) return undefined;
  const features: [bigint, number][] = [];
  const fields: number[] = [];
  for (const whole of rest) {
    const [, field = '', token] = hasFields ? (/^(\d+):(.*)$/s.exec(whole) ?? []) : [whole, '0', whole];
    if (token === undefined || BigInt(field) > 4095n) return undefined;
    fields.push(Number(field));
    const match = /^(\d+):(.*)$/s.exec(token);
    if (match === null) return undefined;
    const id = BigInt(match[1]!);
    const value = Math.fround(numberOf(match[2]!));
    if (id >= 1n << 64n || !Number.isFinite(value)) return undefined;
    features.push([id, value]);
  }
  return { label, weight, group, features, ...(hasFields && { fields }) };
}

const numberOf = (text: string): number =>
  /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
