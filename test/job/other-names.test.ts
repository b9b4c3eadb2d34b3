/** Names that people know from other programs are answered with the field that is meant. */
import { expect, test } from 'vitest';
import { type FieldNames, fieldNamesOf } from '../../src/job/complaints.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { OTHER_NAMES, plain } from '../../src/job/other-names.ts';
import { jobJsonSchema } from '../../src/job/schema.ts';

const JOB = 'name: small\ndata: { train: a, format: libsvm }\nmodel: { type: fm }\noptimizer: { type: adam }\n';

const fields: FieldNames = fieldNamesOf(jobJsonSchema());
const sectionOf = (field: string): string => field.split('.').slice(0, -1).join('.');
const lastOf = (field: string): string => field.split('.').at(-1)!;

test.each(Object.keys(OTHER_NAMES))('%s is a field', (field) => {
  expect(fields.get(sectionOf(field)) ?? []).toContain(lastOf(field));
});

test('a name is that of one field, and of no other in its section', () => {
  const names = Object.values(OTHER_NAMES).flatMap((text) => text.split(' ').map(plain));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  for (const [field, text] of Object.entries(OTHER_NAMES)) {
    const others = (fields.get(sectionOf(field)) ?? []).filter((name) => name !== lastOf(field)).map(plain);
    expect(others.filter((name) => text.split(' ').map(plain).includes(name))).toEqual([]);
  }
});

test.each([
  ['optimizer.lr=0.1', 'optimizer.lr: unknown field; did you mean learningRate?'],
  ['optimizer.eta=0.1', 'optimizer.eta: unknown field; did you mean learningRate?'],
  ['optimizer.l1=0.1', 'optimizer.l1: unknown field; did you mean lambda1?'],
  ['tables.w.optimizer={type: sgd, lr: 1}', 'tables.w.optimizer.lr: unknown field; did you mean learningRate?'],
  ['optimizer={type: ftrl, lr: 1}', 'optimizer.lr: is not a field of optimizer type "ftrl"; did you mean alpha?'],
  ['training.epochs=3', 'training.epochs: unknown field; did you mean passes?'],
  ['epochs=3', 'epochs: unknown field; did you mean training.passes?'],
  ['learning_rate=0.1', 'learning_rate: unknown field; did you mean optimizer.learningRate?'],
  ['batch_size=8', 'batch_size: unknown field; did you mean training.batchSize?'],
  ['training.lr=0.1', 'training.lr: unknown field; did you mean optimizer.learningRate?'],
  ['num_trainers=2', 'num_trainers: unknown field; did you mean cluster.trainers?'],
  ['cluster.n_jobs=2', 'cluster.n_jobs: unknown field; did you mean trainers?'],
  ['validation_split=0.1', 'validation_split: unknown field; did you mean data.split.test?'],
  // The table has no entry for these: a field of this name is in another section.
  ['records_per_task=5', 'records_per_task: unknown field here; did you mean data.recordsPerTask?'],
  ['min-delta=5', 'min-delta: unknown field here; did you mean evaluation.minDelta?'],
  ['reg_lambda=1', 'reg_lambda: unknown field here; the decay of weights is optimizer.l2, or weightDecay'],
])('--set %s', (set, message) => {
  expect(() => parseJobFile('job.yaml', JOB, [set])).toThrow(`--set ${set}: ${message}`);
});

test('in a file, with its place', () => {
  const message = 'job.yaml:5:13: training.epochs: unknown field; did you mean passes?';
  expect(() => parseJobFile('job.yaml', `${JOB}training: { epochs: 3 }\n`)).toThrow(message);
});
