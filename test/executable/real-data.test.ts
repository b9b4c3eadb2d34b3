/** An example on real data; the others are in examples.nightly.test.ts. */
import { test } from 'vitest';
import { isRealDataMissing } from '../data/place.ts';
import { type Example, expectMarks, why } from './example-runs.ts';

const A9A: Example = {
  file: 'a9a-lr.yaml',
  mode: 'async',
  records: 32_561,
  passes: 10,
  marks: { accuracy: 0.848, auc: 0.9, logloss: 0.326 },
};

test.skipIf(isRealDataMissing)(`a9a-lr.yaml reaches its marks on real data${why}`, () => expectMarks(A9A));
