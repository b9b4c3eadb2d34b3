import { expect, test } from 'vitest';
import { chartsOf, chartText } from '../../../src/page/browser/charts.ts';
import type { PageCurve } from '../../../src/page/page-data.ts';

const train: PageCurve = { name: 'train', trained: [10, 20, 30], metrics: { logloss: [0.6, 0.5, 0.45] } };
const evaluated: PageCurve = {
  name: 'test',
  trained: [15, 30],
  metrics: {
    zeta: [1, 2],
    ndcg: [0.3, 0.4],
    hitRate: [0.5, 0.6],
    auc: [null, 0.75],
    logloss: [0.58, 0.47],
    empty: [null, null],
  },
};

test('a chart for each metric, the loss first; each line has a value or a gap at every point', () => {
  const charts = chartsOf([evaluated, train]);
  expect(charts.map(({ title }) => title)).toEqual(['Log loss', 'AUC', 'Hit rate', 'NDCG', 'zeta']);
  expect(charts[0]!.trained).toEqual([10, 15, 20, 30]);
  expect(charts[0]!.lines).toEqual([
    { name: 'test', values: [null, 0.58, null, 0.47], latest: 0.47 },
    { name: 'train', values: [0.6, null, 0.5, 0.45], latest: 0.45 },
  ]);
  expect(charts[1]).toMatchObject({ trained: [30], lines: [{ name: 'test', values: [0.75] }] });
});

test('a chart in words', () => {
  const [loss, auc] = chartsOf([train, evaluated]).map(chartText);
  expect(loss).toBe('Log loss after 30 records: train from 0.6000 to 0.4500; test from 0.5800 to 0.4700.');
  expect(auc).toBe('AUC after 30 records: test is 0.7500.');
});

test('no curves, no charts', () => {
  expect(chartsOf([])).toEqual([]);
  expect(chartsOf([{ name: 'train', trained: [], metrics: { logloss: [] } }])).toEqual([]);
});
