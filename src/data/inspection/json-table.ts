/** JSON lines as a table: each key that leads to values is a column. */
import { PaddletError } from '../../base/errors.ts';
import { NUL_REASON } from '../appearance.ts';
import type { Head } from '../bytes/content.ts';
import { lineBreaks, PLAIN_LINES } from '../bytes/slices.ts';
import { tooLong } from '../chunk-check.ts';
import { headOf } from '../formats/jsonl/head.ts';
import { isObject } from '../formats/jsonl/json.ts';
import { recordIn } from '../formats/jsonl/kept-values.ts';
import type { DataPlace } from '../place.ts';
import { withoutMark } from './dialect.ts';
import { JsonShape } from './json-shape.ts';
import { linesIn, withSlices } from './lines.ts';
import { FIRST_RECORDS, type TableSource } from './table-source.ts';

const NO_COLUMNS = {
  columns: [],
  dialect: { header: false, delimiter: ',', quote: null, missing: [], decimal: '.' },
} as const;

const whyNoObject = (line: Uint8Array): string => (line.includes(0) ? NUL_REASON : 'not a JSON object');
const OTHER_KIND = 'a value of another type than the other records have';

/** Throws `DataInvalid` when no line of `head` is an object. */
export function jsonTable(place: DataPlace, path: string, head: Head, onBytes: (count: number) => void): TableSource {
  headOf(path, head.bytes, head.isWhole, NO_COLUMNS);
  const shape = new JsonShape();
  const records = [];
  for (const { bytes } of linesIn(withoutMark(head.bytes), 1)) {
    const record = recordIn(bytes);
    if (!isObject(record)) continue;
    shape.learn(record);
    if (records.push(record) === FIRST_RECORDS) break;
  }
  shape.settle();
  if (shape.columns.length === 0) {
    throw new PaddletError('DataInvalid', `${path}: none of the first lines is a JSON object with keys`, {
      hint: 'write one JSON object per line (paddlet docs data)',
    });
  }
  return {
    path,
    form: { format: 'jsonl' },
    rows: records.flatMap((record) => {
      const texts = shape.textsOf(record);
      return texts === undefined ? [] : [texts];
    }),
    get columns() {
      return shape.columns;
    },
    get unlisted() {
      return shape.unlisted;
    },
    read: (sink) =>
      withSlices(place, path, { rules: PLAIN_LINES, onBytes }, async (slices) => {
        for (let slice = await slices.next(); slice !== undefined; slice = await slices.next()) {
          const { long } = slice;
          if (long?.isRecord && !sink.take([], long.line, tooLong(long.bytes))) return;
          for (const { bytes, line } of linesIn(slice.bytes, slice.first)) {
            const record = recordIn(bytes);
            const texts = isObject(record) ? shape.textsOf(record) : undefined;
            const fault = isObject(record) ? OTHER_KIND : whyNoObject(bytes);
            if (!sink.take(texts ?? [], line, texts === undefined ? fault : undefined)) return;
          }
          slices.passed(slice.bytes.length, lineBreaks(slice.bytes));
        }
      }),
  };
}
