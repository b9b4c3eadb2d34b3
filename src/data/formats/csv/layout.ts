/** Where the columns of a job are in the lines of a file: by its header, or by position. */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { notWritable, otherThanText, refuseNul, refuseOldLineEnds } from '../../appearance.ts';
import { markBytes, NEWLINE } from '../../ascii.ts';
import { type ColumnSpec, type FieldColumn, isConstant } from '../../columns/column.ts';
import { fieldColumns } from '../../columns/layout.ts';
import { nearName } from '../../near-name.ts';
import type { FileLayout } from '../../source.ts';
import { FORWARD_HEAD_BYTES } from '../format.ts';
import type { FileHead } from '../text/form.ts';
import { dialectBytes, FieldReader, fieldsOf } from './fields.ts';

export interface HeadReading {
  /** Which ones a hint may name. */
  readonly delimiters: readonly string[];
  /** Fields to read of the first line, of which fewer make a bad record, unless another delimiter seems to be meant. */
  readonly most?: number | undefined;
}

/** Maximum bytes of the first line of a file with values. */
export const HEAD_BYTES = FORWARD_HEAD_BYTES;
const DELIMITERS = [',', '\t', ';', '|'];
const SHOWN_NAMES = 12;
const SHOWN_CHARACTERS = 40;

/**
 * `bytes`: the first ones of the file, up to `HEAD_BYTES`; all of them if `isWhole`. Throws `DataInvalid`, naming file,
 * line and column. Undefined when there is no line with values, or none that ends within a look at fewer bytes.
 */
export function headOf(
  path: string,
  bytes: Uint8Array,
  isWhole: boolean,
  spec: ColumnSpec,
  how: HeadReading = { delimiters: DELIMITERS },
): FileHead | undefined {
  const dialect = dialectBytes(spec.dialect);
  const reader = new FieldReader(bytes, dialect);
  let at = markBytes(bytes);
  let line = 1;
  refuseNoText(path, bytes);
  refuseOldLineEnds(path, bytes);
  for (; at < bytes.length; line++) {
    let from = at;
    while (reader.isBlank(bytes[from])) from++;
    if (from < bytes.length && bytes[from] !== NEWLINE && bytes[from] !== dialect.comment) break;
    const newline = bytes.indexOf(NEWLINE, from);
    at = newline < 0 ? bytes.length : newline + 1;
  }
  if (at >= bytes.length && isWhole) return undefined;
  const { texts, end, breaks, fault } = fieldsOf(bytes, at, dialect, how.most);
  if (!isWhole && end >= bytes.length) {
    // The bytes are fewer than a header may have: the header continues after them.
    if (bytes.length < HEAD_BYTES) return undefined;
    throw new PaddletError('DataInvalid', `${path}:${line}: the first line does not end within ${HEAD_BYTES} bytes`, {
      hint: 'check that the file is csv text, and that data.csv.quote is right',
    });
  }
  if (spec.dialect.header) refuseNul(path, bytes, end);
  if (spec.dialect.header && fault !== undefined) {
    throw new PaddletError('DataInvalid', `${path}:${line}:${fault.at - at + 1}: ${FAULTS[fault.kind]} in the header`, {
      hint: 'correct it, or set data.csv.quote to none if quotes are ordinary characters',
    });
  }
  if (texts.length > LIMITS.columns) {
    throw new PaddletError(
      'DataInvalid',
      `${path}:${line}: expected at most ${LIMITS.columns} fields, got ${texts.length}`,
      {
        hint:
          delimiterHint(texts, spec, how) ?? 'remove columns, or combine similar columns into one of type categories',
      },
    );
  }
  const place = `${path}:${line}`;
  const positions = fieldColumns(spec).map((column) => positionOf(column, texts, place, spec, how));
  refuseSamePlace(fieldColumns(spec), positions, place);
  const layout = { fields: texts.length, positions };
  if (!spec.dialect.header) return { layout, names: undefined, offset: at, line };
  return { layout, names: texts, offset: Math.min(end + 1, bytes.length), line: line + breaks + 1 };
}

/** By field: the names that columns are found by. Empty where files have no header. */
export type HeaderNames = ReadonlyMap<number, Buffer>;

export function headerNames(spec: ColumnSpec, { positions }: FileLayout): HeaderNames {
  const named = fieldColumns(spec).map((column, at) => [column, positions[at] ?? -1] as const);
  const found = named.filter(([{ position }, field]) => spec.dialect.header && position === undefined && field >= 0);
  return new Map(found.map(([{ name }, field]) => [field, Buffer.from(name)]));
}

const FAULTS = { open: 'a quote is not closed', after: 'text follows a closing quote' } as const;

function positionOf(column: FieldColumn, texts: string[], place: string, spec: ColumnSpec, how: HeadReading): number {
  if (isConstant(column)) return -1;
  const { name, position, type } = column;
  if (position !== undefined) {
    if (position <= texts.length) return position - 1;
    const hint = delimiterHint(texts, spec, how);
    if (how.most !== undefined && hint === undefined) return position - 1;
    throw new PaddletError(
      'DataInvalid',
      `${place}: ${texts.length} fields, column ${name} is at position ${position}`,
      {
        hint: hint ?? `compare data.columns with the file: data.csv.header is ${spec.dialect.header}`,
      },
    );
  }
  const found = texts.indexOf(name);
  if (found >= 0 && texts.indexOf(name, found + 1) < 0) return found;
  // Whether it is there, or several times, does not matter.
  if (type === 'ignore') return -1;
  if (found >= 0) {
    throw new PaddletError('DataInvalid', `${place}: the header has ${name} twice`, {
      hint: `choose one by its position: set position: ${found + 1} at data.columns.${name}`,
    });
  }
  const names = texts.slice(0, SHOWN_NAMES).map(shorten).join(', ');
  const more = texts.length > SHOWN_NAMES ? ` and ${texts.length - SHOWN_NAMES} more` : '';
  throw new PaddletError('DataInvalid', `${place}: no column ${name} in the header, which has ${names}${more}`, {
    hint: delimiterHint(texts, spec, how) ?? nameHint(name, texts),
  });
}

/** By a name and by a position: a field has one meaning. */
function refuseSamePlace(columns: readonly FieldColumn[], positions: readonly number[], place: string): void {
  const taken = new Map<number, string>();
  columns.forEach(({ name, type }, at) => {
    const position = positions[at]!;
    if (position < 0 || type === 'ignore') return;
    const other = taken.get(position);
    if (other !== undefined) {
      throw new PaddletError(
        'DataInvalid',
        `${place}: columns ${other} and ${name} are both at position ${position + 1}`,
        {
          hint: 'leave one of them out of data.columns, or correct its position',
        },
      );
    }
    taken.set(position, name);
  });
}

const shorten = (text: string): string =>
  text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;

/** The hint for a line that is not divided. */
function delimiterHint(
  texts: readonly string[],
  { dialect }: ColumnSpec,
  { delimiters }: HeadReading,
): string | undefined {
  if (texts.length > 1) return undefined;
  const other = delimiters.find((text) => text !== dialect.delimiter && texts[0]?.includes(text));
  return other === undefined
    ? undefined
    : `the fields seem to be separated by ${JSON.stringify(other)}: set data.csv.delimiter; for predict, pass --delimiter`;
}

function nameHint(name: string, texts: readonly string[]): string {
  const near = nearName(name, texts);
  const bytes = notWritable(near === undefined ? texts : [near]);
  if (bytes !== undefined) return `the header is ${bytes.what}; ${bytes.hint}`;
  if (near !== undefined) return `did you mean ${near}? Names are compared letter by letter`;
  return 'if the file has no line of names, set data.csv.header to false and give positions';
}

function refuseNoText(path: string, bytes: Uint8Array): void {
  const beginning = Buffer.from(bytes.subarray(0, SHOWN_CHARACTERS)).toString('latin1');
  const appearance = otherThanText([beginning]);
  if (appearance === undefined) return;
  throw new PaddletError('DataInvalid', `${path} is ${appearance.what}`, { hint: appearance.hint });
}
