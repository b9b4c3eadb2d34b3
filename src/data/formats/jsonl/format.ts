/** JSON lines as a data format: an object on each line (https://jsonlines.org, RFC 8259). */
import { PLAIN_LINES, wholePlainLines } from '../../bytes/slices.ts';
import type { Format } from '../format.ts';
import { textFormat } from '../text/columns.ts';
import type { TextForm } from '../text/form.ts';
import { headOf } from './head.ts';
import { keptIn } from './kept-values.ts';
import { JsonLineReader } from './line-reader.ts';
import { keysOf } from './paths.ts';

const NONE = -1;
/** `{}` and its line break. */
const LEAST_BYTES = 3;

export const jsonLinesForm: TextForm = {
  headOf,
  linesOf: (spec) => ({
    kernel: 'parseJson',
    dialect: { delimiter: NONE, quote: NONE, comment: NONE, decimal: '.'.charCodeAt(0) },
    keys: keysOf(spec),
    isUtf8: true,
    leastBytes: LEAST_BYTES,
    reader: (text, plan) => new JsonLineReader(text, plan),
    rules: PLAIN_LINES,
    wholeRecords: wholePlainLines,
  }),
  keptIn,
};

export const jsonLinesFormat: Format = { ...textFormat(jsonLinesForm, 'path', 3), hasOwnKeys: true };
