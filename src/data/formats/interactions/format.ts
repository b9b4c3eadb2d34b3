/**
 * Interactions as a data format: who, with what, and whatever follows, one a line, as MovieLens and rankers have them.
 * The lines of CSV text without quotes, but for what is behind the fields that are read, which may be anything.
 */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { ColumnSpec } from '../../columns/column.ts';
import { fieldColumns } from '../../columns/layout.ts';
import { dialectBytes, lineRules, wholeLines } from '../csv/fields.ts';
import { keptIn } from '../csv/kept-fields.ts';
import { headerNames, headOf } from '../csv/layout.ts';
import { CsvLineReader } from '../csv/line-reader.ts';
import { textFormat } from '../text/columns.ts';
import type { TextForm } from '../text/form.ts';

/** The first line of a file of RecBole: names with types, of which the first two are ids. */
const TYPED_NAMES = /^[^\s:]+:token[\t ,]+[^\s:]+:token\b/;
const FIRST_BYTES = 1 << 12;
const DELIMITERS = ['\t', '::', ',', ';', '|', ' '];

export const interactionsForm: TextForm = {
  headOf(path, bytes, isWhole, spec) {
    if (!spec.dialect.header && TYPED_NAMES.test(Buffer.from(bytes.subarray(0, FIRST_BYTES)).toString('latin1'))) {
      throw new PaddletError('DataInvalid', `${path}:1: expected a record, found a header line as RecBole writes it`, {
        hint: 'set data.csv.header to true',
      });
    }
    const most = spec.dialect.header ? undefined : fieldsRead(positionsOf(spec));
    const head = headOf(path, bytes, isWhole, spec, { delimiters: DELIMITERS, most });
    return head && { ...head, layout: { ...head.layout, fields: fieldsRead(head.layout.positions) } };
  },
  linesOf(spec, layout) {
    const names = headerNames(spec, layout);
    const dialect = dialectBytes(spec.dialect);
    return {
      kernel: 'parseInteractions',
      dialect,
      keys: [],
      isUtf8: false,
      hasRest: true,
      leastBytes: layout.fields,
      reader: (text, plan) => new CsvLineReader(text, plan, names),
      rules: lineRules(dialect),
      wholeRecords: (text) => wholeLines(text, dialect),
    };
  },
  // Fields behind those that are read can be kept, too.
  keptIn: (file, keep, head, spec) =>
    keptIn(file, keep, { ...head, layout: { ...head.layout, fields: LIMITS.columns } }, spec),
};

/** Number of fields up to the last one that a column has. */
const fieldsRead = (positions: readonly number[]): number => 1 + Math.max(0, ...positions);

/** Positions of the columns in a file without a header. */
const positionsOf = (spec: ColumnSpec): number[] => fieldColumns(spec).map(({ position = 0 }) => position - 1);

export const interactionsFormat = textFormat(interactionsForm, 'position', 4);
