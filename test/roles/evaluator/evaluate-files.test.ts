/** Records count as their weights say; data of which no record is good is an error, not a score. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type EvaluateOptions, evaluateFiles } from '../../../src/roles/evaluator/evaluate-files.ts';
import { aJob, recordOf } from '../../cluster/job/stored-job.ts';
import { testFolder, testPlace } from '../../data/place.ts';
import { FakeClock } from '../../store/support.ts';

const UNUSED = { pull: () => Promise.reject(new Error('no record needs parameters')) };

/** Weights that are the ids, no bias. */
const IDS_AS_WEIGHTS: EvaluateOptions['client'] = {
  pull: (lists) => {
    const sparse = lists.map(({ ids, count }) =>
      Float32Array.from(new BigUint64Array(ids.slice().buffer, 0, count), Number),
    );
    return Promise.resolve({ dense: [Float32Array.of(0)], sparse, versions: new Map(), routed: undefined });
  },
};

function options(files: Record<string, string>): EvaluateOptions {
  const place = testPlace();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place.folder, name), text);
  return {
    ...{
      place,
      clock: new FakeClock(),
      record: recordOf(aJob()),
      client: UNUSED,
      files: Object.keys(files),
      labels: [],
      jobFolder: testFolder(),
    },
    ...{ signal: new AbortController().signal, onTask: () => {} },
  };
}

test('a file of another kind: what it looks like, and what to do', async () => {
  await expect(evaluateFiles(options({ a: '1,2\n3,4\n', b: '5,6\n' }))).rejects.toMatchObject({
    code: 'DataInvalid',
    exitCode: 3,
    message: expect.stringMatching(/^no good records in a, b: a:1: label "1,2" .*; the file seems to be .*CSV/),
    hint: expect.stringContaining('data.format to csv'),
  });
});

test('a file that looks like nothing', async () => {
  await expect(evaluateFiles(options({ passwd: 'root:x:0:0:root:/root:/bin/bash\n' }))).rejects.toMatchObject({
    code: 'DataInvalid',
    message: expect.stringContaining('no good records in passwd: passwd:1: '),
    hint: expect.stringContaining('data.format'),
  });
});

test('weights and groups of records, in tasks with and without them', async () => {
  const job = aJob({ data: { labelWeights: true, recordsPerTask: 2 } });
  const lines = ['1:3 qid:8 2:1', '0:0.5 qid:8 1:1', '0 1:1', '1 1:1', '0 qid:9 3:1', '1:0 qid:9 4:1'];
  const scoring = {
    ...options({ a: `${lines.join('\n')}\n` }),
    ...{ record: recordOf(job), client: IDS_AS_WEIGHTS },
  };
  const { metrics } = await evaluateFiles(scoring);
  // Of weight 4 positives, of 2.5 negatives: that of the first wins over three of them and loses to one.
  const area = (3 * 1.5 + 1 * (0.5 * 1.5)) / (4 * 2.5);
  expect(metrics).toMatchObject({ records: 6, auc: expect.closeTo(area, 12), groupedAuc: 1 });
  // Group 9 has no positive that counts.
  expect(metrics).toMatchObject({ hitRate: 1, ndcg: 1, topK: 10 });
  // All are taken for positive.
  expect(metrics.accuracy).toBeCloseTo(4 / 6.5, 12);
});

test('a task of several batches, some without a weight or group in them', async () => {
  const job = aJob({ data: { labelWeights: true, recordsPerTask: 10_000 } });
  // The last batch alone has a record that loses, of another weight and group.
  const lines = Array.from({ length: 9_000 }, (_, at) =>
    at < 8_999 ? `${at % 2} ${1 + (at % 2)}:1` : '0:0.25 qid:4 3:1',
  );
  lines[8_998] = '1:3 qid:4 2:1';
  const scoring = {
    ...options({ a: `${lines.join('\n')}\n` }),
    ...{ record: recordOf(job), client: IDS_AS_WEIGHTS },
  };
  const { metrics } = await evaluateFiles(scoring);
  const [positives, negatives] = [4_499 + 3, 4_499 + 0.25];
  expect(metrics.auc).toBeCloseTo((positives * 4_499) / (positives * negatives), 12);
  expect(metrics).toMatchObject({ records: 9_000, groupedAuc: 0 });
});

test('a ranking is of as many records as the job says, or the caller', async () => {
  // The positive is the second of its group.
  const files = options({ a: '1 qid:4 2:1\n0 qid:4 3:1\n' });
  const rankingOf = async (ofJob: object, topK?: number) => {
    const scoring = { ...files, record: recordOf(aJob({ data: ofJob })), client: IDS_AS_WEIGHTS, topK };
    const { metrics } = await evaluateFiles(scoring);
    return { hitRate: metrics.hitRate, topK: metrics.topK };
  };
  expect(await rankingOf({})).toEqual({ hitRate: 1, topK: 10 });
  expect(await rankingOf({ topK: 1 })).toEqual({ hitRate: 0, topK: 1 });
  expect(await rankingOf({ topK: 1 }, 2)).toEqual({ hitRate: 1, topK: 2 });
});

test.each([
  ['of other files', 'evaluate', () => undefined],
  ['of the test files of the job', 'test', (digest: string) => ({ ...recordOf(aJob()).train, digest })],
])('bad records %s are listed', async (_, set, testFacts) => {
  const scoring = { ...options({ a: '1 1:1\n1 x:1\n0 1:1\n' }), client: IDS_AS_WEIGHTS };
  const { bad, dataset } = await evaluateFiles({ ...scoring, jobFolder: testFolder() });
  expect(bad).toBe(1);
  const { digest } = dataset.index;
  const facts = testFacts(digest);
  const record = { ...scoring.record, ...(facts === undefined ? {} : { test: facts }) };
  await evaluateFiles({ ...scoring, record });
  const folder = join(scoring.jobFolder!, 'bad-records');
  const name = `${set}-0-${(set === 'test' ? record.id : digest).slice(0, 8)}.jsonl`;
  expect(readdirSync(folder)).toEqual([name]);
  expect(JSON.parse(readFileSync(join(folder, name), 'utf8'))).toMatchObject({ file: 'a', line: 2, set });
});
