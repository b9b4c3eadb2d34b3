/** CSV and TSV text as a data format. */

import { textFormat } from '../text/columns.ts';
import type { TextForm } from '../text/form.ts';
import { dialectBytes, lineRules, wholeLines } from './fields.ts';
import { keptIn } from './kept-fields.ts';
import { headerNames, headOf } from './layout.ts';
import { CsvLineReader } from './line-reader.ts';
import { withoutLabel } from './without-label.ts';

export const csvForm: TextForm = {
  headOf,
  linesOf(spec, layout) {
    const names = headerNames(spec, layout);
    const dialect = dialectBytes(spec.dialect);
    return {
      kernel: 'parseCsv',
      dialect,
      keys: [],
      isUtf8: false,
      // There is a byte between two fields.
      leastBytes: layout.fields,
      reader: (text, plan) => new CsvLineReader(text, plan, names),
      rules: lineRules(dialect),
      wholeRecords: (text) => wholeLines(text, dialect),
    };
  },
  scored: withoutLabel,
  keptIn,
};

export const csvFormat = textFormat(csvForm, 'position', 4);
