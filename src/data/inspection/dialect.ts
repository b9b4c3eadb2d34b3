/** How the lines of a table are divided, guessed from its first records. Pure. */
import { PaddletError } from '../../base/errors.ts';
import { appearanceOf } from '../appearance.ts';
import { markBytes } from '../ascii.ts';
import { dialectBytes } from '../formats/csv/fields.ts';
import { type RawRecord, readRecords } from './records.ts';
import { numberOf } from './texts.ts';

export interface TableDialect {
  readonly delimiter: string;
  readonly quote: string | null;
  readonly comment: string | undefined;
}

/** Between the fields of interactions, as MovieLens has them. These have no quotes. */
export const TWO_COLONS = '::';
/** Delimiters in the order of preference. */
const DELIMITERS = [',', '\t', ';', '|', ' ', TWO_COLONS];
const QUOTES = ['"', "'", null];
const COMMENTS = ['#', '|', '%'];
const RECORDS = 200;
const LINES = 1000;
/** Enough to see what a file looks like. */
const FIRST_LINES = 8;
/** A quoted text is rarely longer. */
const QUOTED_BYTES = 1 << 16;
/** Minimum fraction of the records that have the same number of fields. */
const LEAST_AGREEMENT = 0.9;

interface Candidate {
  readonly dialect: TableDialect;
  /** Fields of most records, and the share of records that have them. */
  readonly fields: number;
  readonly agreement: number;
  /** The share of fields in which nothing else seems to separate, or which are quoted. */
  readonly whole: number;
  /** The share of fields that the other kind of quotes encloses. */
  readonly quoted: number;
}

/** Throws `DataInvalid` when the lines have nothing in common. `isWhole`: `bytes` is all of the file. */
export function dialectOf(path: string, bytes: Uint8Array, isWhole: boolean): TableDialect {
  const text = withoutMark(bytes);
  const comment = commentOf(text);
  const candidates = DELIMITERS.flatMap((delimiter) =>
    (delimiter === TWO_COLONS ? [null] : QUOTES).flatMap((quote) =>
      candidateOf(text, { delimiter, quote, comment }, isWhole),
    ),
  );
  // The sort is stable: among equal candidates, the first one wins.
  const [best] = candidates
    .filter(({ fields, agreement }) => fields > 1 && agreement >= LEAST_AGREEMENT)
    .sort((a, b) => scoreOf(b) - scoreOf(a));
  if (best === undefined) {
    const lines = Buffer.from(text).toString('latin1').split('\n', FIRST_LINES);
    const looks = appearanceOf(lines.filter((line) => line.trim() !== '' && !line.startsWith('#')));
    const like = looks === undefined ? '' : `; it seems to be ${looks.what}`;
    throw new PaddletError('DataInvalid', `${path} is not a table: its lines have different numbers of fields${like}`, {
      hint:
        looks?.hint ??
        (lines.every((line) => line === '' || line.includes(TWO_COLONS))
          ? 'for fields separated by "::", set data.format: interactions and data.csv.delimiter: "::"; the first two fields must be a user and an item'
          : 'separate the fields with a single comma, tab, semicolon, vertical bar or space; `paddlet docs data` lists all formats'),
    });
  }
  return isHeader(text, best) ? { ...best.dialect, comment: undefined } : best.dialect;
}

/** The only comment, a first line such as `#id,name`, has the names of the columns. */
function isHeader(bytes: Uint8Array, { dialect: { comment, delimiter }, fields }: Candidate): boolean {
  if (comment !== '#') return false;
  const [first = '', ...others] = Buffer.from(bytes).toString('latin1').split('\n', LINES);
  if (others.some((line) => line.trimStart().startsWith(comment))) return false;
  return first.startsWith(comment) && first.split(delimiter).length === fields;
}

export function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(markBytes(bytes));
}

const scoreOf = ({ agreement, whole, quoted }: Candidate): number => agreement + whole - quoted;

/** `#` and `%` where only some lines begin with them; `|` as adult.test of UCI has it, in the first line alone. */
function commentOf(bytes: Uint8Array): string | undefined {
  const lines = Buffer.from(bytes).toString('latin1').split('\n', LINES);
  const filled = lines.map((line) => line.trim()).filter((line) => line !== '');
  return COMMENTS.find((character) => {
    const marked = filled.filter((line) => line.startsWith(character)).length;
    if (marked === 0 || marked === filled.length || !filled[0]!.startsWith(character)) return false;
    if (character !== '|') return true;
    return filled.slice(1).every((line) => !line.includes(character));
  });
}

function candidateOf(bytes: Uint8Array, dialect: TableDialect, isWhole: boolean): Candidate[] {
  const records: RawRecord[] = [];
  const form = { ...dialect, missing: [], header: false, decimal: '.' } as const;
  const done = readRecords(bytes, dialectBytes(form), { firstLine: 1, isLast: isWhole }, (record) => {
    records.push(record);
    return records.length < RECORDS;
  });
  // The quote of a last record may be closed behind the first bytes.
  const isOpen = done.isOpen && (isWhole || bytes.length - done.bytes > QUOTED_BYTES);
  if (records.length === 0 || isOpen) return [];
  const { delimiter, quote } = dialect;
  const lengths = records.filter(({ isFaulty }) => !isFaulty).map((record) => record.fields.length);
  const isOfInteractions = delimiter === TWO_COLONS;
  if (isOfInteractions && !hasUsers(records)) return [];
  const fields = isOfInteractions ? widthOf(lengths) : mostFrequent(lengths);
  const agreeing = lengths.filter((length) => length === fields || (length > fields && isOfInteractions));
  const all = records.flatMap((record) => record.fields).length;
  const plain = records.flatMap((record) => record.fields.filter((_, at) => record.quoted[at] !== true));
  // Nothing is enclosed by quotes that are rare.
  if (quote === "'" && plain.length === all) return [];
  const shareOf = (holds: (text: string) => boolean): number => plain.filter(holds).length / all;
  const others = DELIMITERS.filter((other) => other !== delimiter && other !== ' ');
  return [
    {
      dialect,
      fields,
      agreement: agreeing.length / records.length,
      whole: 1 - shareOf((text) => others.some((other) => text.includes(other)) && Number.isNaN(numberOf(text, ','))),
      quoted: shareOf((text) => QUOTES.some((other) => other !== null && other !== quote && isEnclosed(text, other))),
    },
  ];
}

/**
 * Whether the first fields may be users. Two colons are also in names of programs, such as `std::vector`, and in
 * addresses: then the header has none, or all lines have the same prefix, or it has other separators.
 */
function hasUsers(records: readonly RawRecord[]): boolean {
  if (records[0]!.fields.length === 1) return false;
  const users = records.map(({ fields }) => fields[0]!);
  const plain = users.filter((user) => !/[,\t;|: ]/.test(user));
  const below = new Set(users.length === 1 ? users : users.slice(1));
  const [only = ''] = below;
  const isPrefix = users.length > 1 && below.size === 1 && Number.isNaN(numberOf(only, '.'));
  return plain.length >= LEAST_AGREEMENT * users.length && !isPrefix;
}

/** Fields that nearly all records of interactions have. Further ones are not read. */
export function widthOf(lengths: readonly number[]): number {
  const longestFirst = [...lengths].sort((a, b) => b - a);
  return longestFirst[Math.ceil(LEAST_AGREEMENT * lengths.length) - 1] ?? 0;
}

/** 0 of none. */
function mostFrequent(numbers: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? 0;
}

const isEnclosed = (text: string, quote: string): boolean =>
  text.length > 1 && text.startsWith(quote) && text.endsWith(quote);
