/** CSV, and other text of fields: its first records say how it is divided, and whether it has names. */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { NUL_REASON, refuseNul } from '../appearance.ts';
import type { Head } from '../bytes/content.ts';
import { tooLong } from '../chunk-check.ts';
import { dialectBytes, lineRules, REPEATED_HEADER } from '../formats/csv/fields.ts';
import type { DataPlace } from '../place.ts';
import { dialectOf, type TableDialect, TWO_COLONS, widthOf, withoutMark } from './dialect.ts';
import { decimalOf, hasHeader } from './header.ts';
import { withSlices } from './lines.ts';
import { type LongRecord, type RawRecord, readAllRecords, readRecords } from './records.ts';
import { FIRST_RECORDS, MOST_UNLISTED, type SourceColumn, type TableForm, type TableSource } from './table-source.ts';
import { shownText } from './texts.ts';
import { timeFormatOf } from './times.ts';

type FieldsForm = Extract<TableForm, TableDialect>;

/** The first columns of interactions. */
const IDS = ['user', 'item'];
const RATED_FIELDS: readonly number[] = [3, 4];
const WHOLE = /^\d+$/;

/** Throws `DataInvalid` if the file is not a table. */
export function fieldsTable(place: DataPlace, path: string, head: Head, onBytes: (count: number) => void): TableSource {
  const { form, rows, width, more } = firstRows(path, head);
  const first = Array.from({ length: width }, (_, at) => rows[0]?.[at] ?? '');
  if (first.length > LIMITS.columns) {
    throw new PaddletError('DataInvalid', `${path}: expected at most ${LIMITS.columns} fields, got ${first.length}`);
  }
  if (form.header && first.some((text) => text.includes('\0'))) refuseNul(path, head.bytes, head.bytes.length);
  const names = first.map(shownText);
  return {
    ...{ path, form, unlisted: Array.from({ length: Math.min(more, MOST_UNLISTED) }, (_, at) => `c${width + at + 1}`) },
    columns: first.map((_, at) => nameOf(form, names, at)),
    rows: form.header ? rows.slice(1).filter((texts) => !isSame(texts, first)) : rows,
    async read(sink) {
      const dialect = bytesOf(form);
      let isHeader = form.header;
      const take = (record: RawRecord | LongRecord): boolean => {
        if ('bytes' in record) return sink.take([], record.line, tooLong(record.bytes));
        if (isHeader) {
          isHeader = false;
          return true;
        }
        const texts = asWide(form, record.fields, width);
        return sink.take(texts, record.line, record.isFaulty ? AFTER_QUOTE : faultOf(form, texts, first));
      };
      await withSlices(place, path, { rules: lineRules(dialect), onBytes }, (slices) =>
        readAllRecords(path, slices, dialect, take),
      );
    },
  };
}

const AFTER_QUOTE = 'text follows a closing quote';

const isSame = (texts: readonly string[], others: readonly string[]): boolean =>
  texts.length === others.length && texts.every((text, at) => text === others[at]);

function faultOf(
  { format, header }: FieldsForm,
  texts: readonly string[],
  first: readonly string[],
): string | undefined {
  if (texts.some((text) => text.includes('\0'))) return NUL_REASON;
  if (header && isSame(texts, first)) return REPEATED_HEADER;
  const expected = `${format === 'interactions' ? 'at least ' : ''}${first.length}`;
  return texts.length === first.length ? undefined : `${texts.length} fields, expected ${expected}`;
}

/** Further fields of interactions are not read. */
const asWide = ({ format }: Pick<FieldsForm, 'format'>, texts: readonly string[], width: number): readonly string[] =>
  format === 'interactions' && texts.length > width ? texts.slice(0, width) : texts;

/** Numbers of a user and an item, perhaps of a rating, and of seconds since 1970: `u.data` of MovieLens has them. */
function areRatings(rows: readonly (readonly string[])[]): boolean {
  const width = rows[0]!.length;
  if (!RATED_FIELDS.includes(width) || rows.some(({ length }) => length !== width)) return false;
  if (!rows.every(([user = '', item = '']) => WHOLE.test(user) && WHOLE.test(item))) return false;
  const last = rows.map((texts) => texts[width - 1]!);
  return timeFormatOf(last, 'time')?.format === 'unix';
}

const bytesOf = ({ delimiter, quote, comment, decimal }: FieldsForm) =>
  dialectBytes({ delimiter, quote, comment, decimal, header: false, missing: [] });

interface FirstRows {
  readonly form: FieldsForm;
  /** The header first, if there is one. */
  readonly rows: readonly (readonly string[])[];
  readonly width: number;
  /** Fields of the longest row behind these. */
  readonly more: number;
}

function firstRows(path: string, { bytes, isWhole }: Head): FirstRows {
  const dialect = dialectOf(path, bytes, isWhole);
  const { delimiter } = dialect;
  const guessed = delimiter === TWO_COLONS ? 'interactions' : delimiter === '\t' ? 'tsv' : 'csv';
  const read: (readonly string[])[] = [];
  readRecords(
    withoutMark(bytes),
    bytesOf({ format: guessed, ...dialect, header: false, decimal: '.' }),
    { firstLine: 1, isLast: isWhole },
    ({ fields }) => {
      read.push(fields);
      return read.length <= FIRST_RECORDS;
    },
  );
  const lengths = read.map(({ length }) => length);
  const [named = 0] = lengths;
  const usual = guessed === 'interactions' ? widthOf(lengths) : named;
  const cut = read.map((texts) => asWide({ format: guessed }, texts, usual));
  const decimal = decimalOf(cut, dialect.delimiter);
  const header = hasHeader(cut, decimal);
  const format = !header && areRatings(cut) ? 'interactions' : guessed;
  // What a header does not name is one more field.
  const width = header ? Math.min(named, usual) : usual;
  const rows = cut.map((texts) => asWide({ format }, texts, width));
  const more = format === 'interactions' ? Math.max(0, ...lengths.map((length) => length - width)) : 0;
  const quote = format === 'interactions' ? null : dialect.quote;
  return { form: { format, ...dialect, quote, decimal, header }, rows, width, more };
}

/** That of the header; one without a name, or with that of another, is called by its place, or `user` or `item`. */
function nameOf({ format, header }: FieldsForm, names: readonly string[], at: number): SourceColumn {
  const id = format === 'interactions' ? IDS[at] : undefined;
  const kind = id === undefined ? {} : { isId: true };
  const name = names[at]!;
  const isName = header && name !== '' && name.length <= LIMITS.columnNameCharacters;
  const isFirst = names.indexOf(name) === at;
  if (isName && isFirst) return { name, hasName: names.lastIndexOf(name) === at, ...kind };
  let place = id ?? `c${at + 1}`;
  while (header && names.includes(place)) place += '_';
  return { name: place, hasName: false, ...kind };
}
