/** What people read of a result. */
import { expect, it } from 'vitest';
import type { JobResult } from '../../../src/cluster/job/job-result.ts';
import { resultText, scoredText } from '../../../src/commands/base/result-text.ts';

const RESULT: JobResult = {
  job: 'clicks',
  mode: 'async',
  passes: 4,
  tasks: { total: 4, done: 4, discarded: 0 },
  records: { read: 8, applied: 8, duplicate: 0, bad: 0, discarded: 0, lost: 0 },
  metrics: {},
  modelDigest: 'm',
  stateDigest: 's',
  recordsPerSecond: 601,
  elapsedSeconds: 19.5,
  checkpoints: [],
};
const binary = (logloss: number) => ({ records: 2, logloss, accuracy: 0.5, rmse: 0.5 });
const warningsOf = (metrics: JobResult['metrics'], classWeights?: Record<string, number>): string[] =>
  resultText({ ...RESULT, metrics }, classWeights)
    .split('\n')
    .filter((line) => line.startsWith('warning'));

it('does not divide the time since the publication, with stops and pauses, by the rate', () => {
  expect(resultText(RESULT)).toMatch('is done: 4 passes at 601 records/s, 19.5 s after its start\n');
});

it('names the folder of bad records where there is one', () => {
  expect(resultText({ ...RESULT, badRecordFolder: '/job/bad-records' })).toContain(
    '\nbad records are listed in /job/bad-records\n',
  );
  expect(resultText(RESULT)).not.toContain('listed');
});

it('says why there is no AUC', () => {
  expect(scoredText(binary(0.5))).toContain('(no auc: all labels with a weight are the same)');
  expect(scoredText({ ...binary(0.5), auc: 0.7 })).not.toContain('no auc');
  expect(scoredText({ records: 2, rmse: 1 })).not.toContain('no auc');
  expect(scoredText({ records: 0 })).not.toContain('no auc');
  expect(scoredText({ records: 2 })).toBe('on 2 records  (no metrics: all weights are 0)');
  expect(scoredText({ records: 0 })).not.toContain('no metrics');
});

it('says how far an AUC may be off, and calibration', () => {
  const exact = { ...binary(0.5), auc: 0.7, groupedAuc: 0.6, calibration: 1.0126 };
  expect(scoredText(exact)).toMatch(/auc 0.70000 {2}grouped auc 0.60000 {2}.* {2}calibration 1.013 {2}on 2 records$/);
  const { groupedAuc: _, ...bounded } = { ...exact, aucBound: 0.0000101 };
  expect(scoredText(bounded)).toMatch(
    / auc 0.70000 ± 0.00002 {2}accuracy .* {2}\(auc from a histogram, and no metrics by group: more than 10,000,000 records\)$/,
  );
});

it('names the records that a ranking is of, as the literature does', () => {
  const ranked = { ...binary(0.5), groupedAuc: 0.6, hitRate: 0.713, ndcg: 0.42, topK: 10 };
  expect(scoredText(ranked)).toContain('  grouped auc 0.60000  hr@10 0.71300  ndcg@10 0.42000  accuracy ');
});

it('warns of a model that is worse than a constant, by the test files if there are any', () => {
  expect(warningsOf({ train: binary(0.6), test: { ...binary(15.9), auc: 0.5 } })).toEqual([
    'warning    a logloss of 15.90000 is worse than 0.69315, the logloss of predicting ½ for every record: scale the values, or lower optimizer.learningRate',
  ]);
  expect(warningsOf({ train: binary(0.8) })).toHaveLength(1);
  expect(warningsOf({ train: binary(0.8), test: binary(0.6) })).toEqual([]);
  expect(warningsOf({ train: binary(Math.LN2 + 1e-9) })).toEqual([]);
  expect(warningsOf({ test: { records: 2, logloss: 2.3, accuracy: 0.1 } })).toEqual([]);
});

it('names class weights first if the test loss may be high because of them', () => {
  const weights = { 1: 50 };
  expect(warningsOf({ train: binary(0.3), test: binary(1.2) }, weights)).toEqual([
    expect.stringMatching(
      /½ for every record: training\.classWeights raises .* Compare auc.*; otherwise scale the values/,
    ),
  ]);
  // The weights count in a training loss.
  expect(warningsOf({ train: binary(1.2) }, weights)).toEqual([expect.not.stringContaining('classWeights')]);
  expect(warningsOf({ test: binary(0.5) }, weights)).toEqual([]);
});
