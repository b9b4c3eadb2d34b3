/** Async mode on real data, three runs with and three without batches in flight: the worst has the marks, too. */
import { describe, test } from 'vitest';
import { isRealDataMissing } from '../data/place.ts';
import { type Example, testScores, why } from './example-runs.ts';

const RUNS = 3;
const EXAMPLES: readonly Example[] = [
  {
    file: 'a9a-lr.yaml',
    mode: 'async',
    records: 32_561,
    passes: 10,
    marks: { accuracy: 0.848, auc: 0.9, logloss: 0.326 },
  },
  { file: 'a9a-fm.yaml', mode: 'async', records: 32_561, passes: 10, marks: { accuracy: 0.848, auc: 0.9 } },
  { file: 'mnist-softmax.yaml', mode: 'async', records: 60_000, passes: 5, marks: { accuracy: 0.915 } },
];

describe.skipIf(isRealDataMissing).each(EXAMPLES)(`$file${why}`, (example) => {
  test.each([
    ['as it is', []],
    ['with nothing pulled ahead', ['training.pullAhead=0']],
  ])('%s', async (name, sets) => {
    for (let run = 0; run < RUNS; run++) {
      const { accuracy, auc, logloss } = (await testScores({ ...example, sets }))!;
      process.stdout.write(`${example.file} ${name}: accuracy ${accuracy}, auc ${auc}, logloss ${logloss}\n`);
    }
  });
});
