/** Two examples on real data; the others are in examples.nightly.test.ts. */
import { describe, test } from 'vitest';
import { isRealDataMissing } from '../data/place.ts';
import { type Example, expectMarks, why } from './example-runs.ts';

const EXAMPLES: readonly Example[] = [
  {
    file: 'a9a-lr.yaml',
    mode: 'async',
    records: 32_561,
    passes: 10,
    marks: { accuracy: 0.848, auc: 0.9, logloss: 0.326 },
  },
  // The same census as CSV: the marks of a9a.
  {
    file: 'adult-lr.yaml',
    mode: 'async',
    records: 32_561,
    passes: 10,
    marks: { accuracy: 0.848, auc: 0.9, logloss: 0.326 },
  },
];

describe.skipIf(isRealDataMissing)(`examples on real data${why}`, () => {
  test.each(EXAMPLES)('$file', expectMarks);
});
