/** How many trainers a run keeps: what was said last, by its job file or by `paddlet resize`. */
import { expect, it } from 'vitest';
import { parseTrainersDesired, trainersFor } from '../../../src/cluster/job/trainers-desired.ts';
import type { KeyValue } from '../../../src/store/store.ts';

const entry = (value: string): KeyValue => ({ key: '/k', value, createRevision: 1n, modRevision: 1n, leaseId: 0n });

it.each([
  ['nothing has changed', 2, undefined, 2],
  ['the job file has changed since the job was published', 5, undefined, 5],
  ['the job was resized', 2, { trainers: 4, jobFile: 2 }, 4],
  ['the job file has changed since the job was resized', 5, { trainers: 4, jobFile: 2 }, 5],
  ['the job file has the number of the start again', 2, { trainers: 4, jobFile: 5 }, 2],
])('when %s', (_, jobFile, key, wanted) => {
  expect(trainersFor(jobFile, key, 2)).toEqual({ trainers: wanted, jobFile });
});

it('is a number of trainers that is possible', () => {
  expect(parseTrainersDesired(entry('{"trainers":4,"jobFile":2}'))).toEqual({ trainers: 4, jobFile: 2 });
  for (const wrong of ['4', '{"trainers":0,"jobFile":2}', '{"trainers":1e9,"jobFile":2}', '{"trainers":4}', '{']) {
    expect(() => parseTrainersDesired(entry(wrong))).toThrow(expect.objectContaining({ code: 'StoreValueInvalid' }));
  }
});
