/** Fields of lines whose texts go with the predictions. */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { NEWLINE } from '../../ascii.ts';
import type { ColumnSpec } from '../../columns/column.ts';
import type { FileHead } from '../text/form.ts';
import type { Kept, KeptTexts } from '../text/kind.ts';
import type { DialectBytes } from '../text/plan.ts';
import { dialectBytes, FieldReader } from './fields.ts';

interface KeptField {
  readonly name: string;
  /** 0-based. */
  readonly field: number;
}

export function keptIn(file: string, keep: readonly string[], head: FileHead, spec: ColumnSpec): Kept {
  const kept = keptFields(file, keep, head, spec);
  const fields = kept.map(({ field }) => field);
  return {
    names: kept.map(({ name }) => name),
    textsIn: (text) => new FieldTexts(text, dialectBytes(spec.dialect), fields),
  };
}

/** `keep`: names of the header, or of the job's columns without one; or 1-based positions. Throws `DataInvalid`. */
function keptFields(
  file: string,
  keep: readonly string[],
  { names, layout: { fields } }: FileHead,
  { columns }: ColumnSpec,
): KeptField[] {
  const known = names ?? Array.from({ length: fields }, (_, field) => nameAt(columns, field));
  return keep.map((wanted) => {
    const field = known.indexOf(wanted);
    if (field >= 0 && known.includes(wanted, field + 1)) {
      throw new PaddletError('DataInvalid', `${file}: the header has ${wanted} twice`, {
        hint: `name the column to keep by its position, such as ${field + 1}`,
      });
    }
    if (field >= 0) return { name: wanted, field };
    const position = /^[1-9]\d{0,8}$/.test(wanted) ? Number(wanted) : 0;
    if (position >= 1 && position <= fields) return { name: known[position - 1]!, field: position - 1 };
    throw new PaddletError('DataInvalid', `${file}: does not have the column ${wanted} to keep`, {
      hint: `name a column to keep by its name${names === undefined ? ' in the job' : ' in the header'}, or its position, 1 to ${fields}`,
    });
  });
}

/** Name of a field in a file without a header. */
const nameAt = (columns: ColumnSpec['columns'], field: number): string =>
  columns.find((column) => column.type !== 'cross' && column.position === field + 1)?.name ?? `field${field + 1}`;

/** Decodes a range without a copy of the bytes. */
const latin1 = ({ buffer, byteOffset }: Uint8Array, from: number, to: number): string =>
  Buffer.from(buffer, byteOffset + from, to - from).toString('latin1');

class FieldTexts implements KeptTexts {
  readonly #reader: FieldReader;
  readonly #fields: readonly number[];
  readonly #last: number;

  constructor(text: Uint8Array, dialect: DialectBytes, fields: readonly number[]) {
    this.#reader = new FieldReader(text, dialect);
    this.#fields = fields;
    this.#last = Math.max(...fields);
  }

  /** Texts of the line in [start, end): empty where the line lacks the field, or is too long to be read. */
  of(start: number, end: number): string[] {
    const reader = this.#reader;
    const texts: string[] = this.#fields.map(() => '');
    if (end - start > LIMITS.recordBytes) return texts;
    let at = start;
    for (let field = 0; field <= this.#last; field++) {
      reader.read(at);
      const { content, from, to } = reader;
      this.#fields.forEach((wanted, place) => {
        if (wanted === field) texts[place] = latin1(content, from, to);
      });
      if (reader.end >= reader.bytes.length || reader.bytes[reader.end] === NEWLINE) break;
      at = reader.end + reader.delimiterBytes;
    }
    return texts;
  }
}
