/** What a job may say about evaluation while it trains. */
import { describe, expect, it } from 'vitest';
import { diffJobs } from '../../src/job/diff-jobs.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { parseJob } from '../../src/job/schema.ts';
import { asPublished } from '../cluster/job/stored-job.ts';

const LIBSVM = 'data: { train: t, test: h, format: libsvm }\nmodel: { type: lr }';
const load = (evaluation: string, more = LIBSVM, training = '{}') =>
  parseJobFile('job.yaml', `name: j\n${more}\ntraining: ${training}\nevaluation: ${evaluation}\n`);
const written = (...args: Parameters<typeof load>) => load(...args).evaluation;

describe('a job', () => {
  it('is not evaluated while it trains by default', () => {
    expect(parseJobFile('job.yaml', `name: j\n${LIBSVM}\n`)).not.toHaveProperty('evaluation');
  });

  it('that is evaluated is so after each pass, by its loss', () => {
    expect(written('{}')).toEqual({ everyPasses: 1, data: [], labels: [], metric: 'logloss', minDelta: 0 });
  });

  it('says what differs from that', () => {
    const all = '{ everyPasses: 3, data: a, metric: auc, patience: 2, minDelta: 0.5 }';
    expect(written(all)).toEqual({
      ...{ everyPasses: 3, data: ['a'], labels: [], metric: 'auc', patience: 2, minDelta: 0.5 },
    });
    expect(written('{ data: [a, b] }')?.data).toEqual(['a', 'b']);
  });

  it('in sync mode may be evaluated by rounds: then not by passes', () => {
    const rounds = written('{ everyRounds: 7 }', LIBSVM, '{ mode: sync }');
    expect(rounds).toEqual({ everyRounds: 7, data: [], labels: [], metric: 'logloss', minDelta: 0 });
  });

  it.each([
    ['{ type: fm, task: regression }', 'rmse'],
    ['{ type: fm }', 'logloss'],
    ['{ type: softmax }', 'logloss', 'idx'],
  ])('of model %s is compared by its %s', (model, metric, format = 'libsvm') => {
    expect(written('{}', `data: { train: t, test: h, format: ${format} }\nmodel: ${model}`)?.metric).toBe(metric);
  });

  it.each([
    ['a split', 'data: { train: t, format: libsvm, split: { test: 0.1 } }\nmodel: { type: lr }', '{}'],
    ['files of its own', 'data: { train: t, format: libsvm }\nmodel: { type: lr }', '{ data: h }'],
    ['label files', 'data: { train: t, format: idx }\nmodel: { type: softmax }', '{ data: h, labels: l }'],
  ])('has held-out records by %s', (_, more, evaluation) => {
    expect(written(evaluation, more)).toBeDefined();
  });

  it('is the same from the store', () => {
    const job = load('{ patience: 2, data: [a] }');
    expect(parseJob(JSON.parse(JSON.stringify(asPublished(job))))).toEqual(asPublished(job));
  });

  it('does not change how it is evaluated: each of its fields is one that differs', () => {
    const before = load('{ patience: 2 }');
    expect(diffJobs(before, load('{ patience: 3, everyPasses: 2 }'))).toEqual([
      { field: 'evaluation.everyPasses', before: 1, after: 2 },
      { field: 'evaluation.patience', before: 2, after: 3 },
    ]);
  });
});

describe('records of a group that a ranking is of', () => {
  const topKOf = (topK: string, model = '{ type: lr }', format = 'libsvm') =>
    parseJobFile('job.yaml', `name: j\ndata: { train: t, format: ${format}${topK} }\nmodel: ${model}\n`).data.topK;

  it('are 10, or as many as the job says, also of other models from the store', () => {
    expect(topKOf('')).toBe(10);
    expect(topKOf(', topK: 1')).toBe(1);
    expect(topKOf(', topK: 1000')).toBe(1000);
    const regression = load('{}', 'data: { train: t, test: h, format: libsvm }\nmodel: { type: lr, task: regression }');
    expect(parseJob(JSON.parse(JSON.stringify(asPublished(regression))))).toEqual(asPublished(regression));
  });

  it('are 10 in a job that was stored before there was a choice', () => {
    const job = asPublished(load('{}'));
    const { topK: _, ...data } = job.data;
    expect(parseJob(JSON.parse(JSON.stringify({ ...job, data })))).toEqual(job);
  });

  it.each([
    ['lr has task regression', '{ type: lr, task: regression }', 'libsvm'],
    ['softmax has task multiclass', '{ type: softmax }', 'idx'],
  ])('are of binary models only: %s', (message, model, format) => {
    expect(topKOf('', model, format)).toBe(10);
    const whole = `data.topK: only for binary models: ${message}`;
    expect(() => topKOf(', topK: 10', model, format)).toThrow(whole);
  });

  it('are of groups', () => {
    const columns = (more: string) => `${more}, columns: { user: category, label: label }`;
    expect(topKOf(columns(', topK: 5, groupBy: user'), '{ type: lr }', 'csv')).toBe(5);
    expect(topKOf(columns(''), '{ type: lr }', 'csv')).toBe(10);
    expect(() => topKOf(columns(', topK: 5'), '{ type: lr }', 'csv')).toThrow(
      'data.topK: this metric ranks records within groups',
    );
  });

  it.each(['0', '1001', '2.5'])('are not %s', (topK) => {
    expect(() => topKOf(`, topK: ${topK}`)).toThrow('data.topK: ');
  });

  it.each(['hitRate', 'ndcg'])('models are compared by %s', (metric) => {
    expect(written(`{ metric: ${metric} }`)?.metric).toBe(metric);
  });
});

describe('is refused:', () => {
  const SYNC = '{ mode: sync }';
  const NOTHING_HELD_OUT = 'data: { train: t, format: libsvm }\nmodel: { type: lr }';
  const REGRESSION = 'data: { train: t, test: h, format: libsvm }\nmodel: { type: fm, task: regression }';
  const CLICKS = 'data: { train: t, test: h, format: csv, columns: { y: label, c: category } }\nmodel: { type: lr }';
  const IMAGES = 'data: { train: t, test: h, format: idx }\nmodel: { type: softmax }';

  it.each<[string, string, string, string?, string?]>([
    ['{ everyPasses: 1, everyRounds: 2 }', '5:44', 'everyRounds: expected either this or everyPasses', LIBSVM, SYNC],
    ['{ everyRounds: 2 }', '5:28', 'everyRounds: expected everyPasses: only sync mode has rounds'],
    [
      '{}',
      '5:1',
      'evaluation: expected held-out records: set evaluation.data, data.test or data.split',
      NOTHING_HELD_OUT,
    ],
    ['{ metric: rmse }', '5:23', 'metric: expected one of logloss, accuracy', IMAGES],
    ['{ metric: auc }', '5:23', 'metric: expected one of rmse', REGRESSION],
    [
      '{ metric: ndcg }',
      '5:23',
      'metric: ndcg is a metric by group: expected data.groupBy, or a column of type group',
      CLICKS,
    ],
    ['{ metric: loss }', '5:23', 'metric: '],
    ['{ labels: l }', '5:23', 'labels: only with evaluation.data', IMAGES],
    ['{ data: h, labels: l }', '5:32', 'labels: libsvm records contain their labels'],
    ['{ everyPasses: 0 }', '5:28', 'everyPasses: '],
    ['{ everyPasses: 1.5 }', '5:28', 'everyPasses: '],
    ['{ patience: 0 }', '5:25', 'patience: '],
    ['{ minDelta: -1 }', '5:25', 'minDelta: '],
    ['{ data: [] }', '5:21', 'data: '],
    ['{ every: 2 }', '5:15', 'every: unknown field'],
  ])('%s', (evaluation, place, message, more, training) => {
    let said = '';
    try {
      load(evaluation, more, training);
    } catch (error) {
      said = (error as Error).message;
    }
    expect(said).toContain(
      `job.yaml:${place}: evaluation${message.startsWith('evaluation') ? '' : '.'}${message.replace(/^evaluation/, '')}`,
    );
  });
});
