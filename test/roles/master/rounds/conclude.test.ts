/** Record accounting of a job in sync mode. */
import { describe, expect, it } from 'vitest';
import { describeRecords } from '../../../../src/roles/master/dataset.ts';
import { checkAccount, type PserverAccount } from '../../../../src/roles/master/result.ts';
import {
  type ConcludeRoundsOptions,
  concludeRounds,
  countRecords,
} from '../../../../src/roles/master/rounds/conclude.ts';
import { groupThat } from '../fake-group.ts';

const account = (applied: number, lastPass: number, duplicate = 0): PserverAccount =>
  ({
    applied,
    rounds: {
      received: 0,
      duplicate,
      metrics: [
        { pass: 1, records: 90, weight: 90, loss: 0, correct: 0, squaredError: 0 },
        { pass: 2, records: lastPass, weight: lastPass, loss: 0, correct: 0, squaredError: 0 },
      ],
    },
  }) as unknown as PserverAccount;

describe('records of three passes over 100', () => {
  it('that are all good', () => {
    const { records, lastPass } = countRecords([account(300, 100, 7), account(300, 100, 9)], 100, 3);
    expect(records).toEqual({ read: 309, applied: 300, duplicate: 9, bad: 0, discarded: 0, lost: 0 });
    expect(lastPass!.records).toBe(100);
  });

  it('of which two are bad in each pass', () => {
    const { records } = countRecords([account(294, 98)], 100, 3);
    expect(records).toMatchObject({ applied: 294, bad: 6, lost: 0 });
  });

  it('that one pserver has not all applied are lost', () => {
    expect(countRecords([account(294, 98), account(284, 98)], 100, 3).records).toMatchObject({
      applied: 284,
      lost: 10,
    });
  });

  it('are not called bad when no pserver can say so', () => {
    expect(countRecords([{ ...account(284, 0), rounds: undefined }], 100, 3).records).toMatchObject({
      bad: 0,
      lost: 16,
    });
  });
});

describe('an account', () => {
  const adding = { read: 300, applied: 294, duplicate: 0, bad: 4, discarded: 2, lost: 0 };
  const at = (applied: number, discarded: number) => ({ applied, discarded });

  it('adds up where every record is applied, bad or discarded, at whichever push a pserver closed a task', () => {
    checkAccount([at(294, 2), at(296, 0)], 300, adding);
  });

  it.each([
    [3, '294 applied, 4 bad and 2 discarded records are not the 300 of the job: 3 are missing'],
    [
      -999_999_992,
      '294 applied, 4 bad and 2 discarded records are not the 300 of the job: 999999992 more than the job has',
    ],
  ])('that lacks %s records fails the job', (lost, why) => {
    const check = () => checkAccount([at(294, 2)], 300, { ...adding, lost });
    const message = `the record counts do not add up: ${why}`;
    expect(check).toThrow(expect.objectContaining({ code: 'WrongCounts', message, exitCode: 6 }));
  });

  it('fails the job when the pservers do not agree', () => {
    expect(() => checkAccount([at(294, 2), at(295, 2)], 300, adding)).toThrow(
      'the pservers count different records, applied or discarded: 296 at pserver 0, 297 at pserver 1',
    );
  });
});

it('a job whose pservers do not agree has no result', async () => {
  const group = groupThat((index, type) =>
    type === 'closed' ? { watermark: 3 } : { ...account(300 - index, 100), discarded: 0 },
  );
  const options = {
    ...{ group, stopSignal: new AbortController().signal, cut: { files: [] } },
    record: { train: { tasks: 10, records: 100 }, job: { training: { passes: 3 }, cluster: { shards: 2 } } },
    model: { parameters: { dense: [], sparse: [] } },
  } as unknown as ConcludeRoundsOptions;
  await expect(concludeRounds(options)).rejects.toMatchObject({ code: 'WrongCounts' });
});

it('records of a task are named by file and chunk', () => {
  const dataset = {
    index: { files: [{ path: 'a' }, { path: 'b' }] },
    tasks: [
      [
        { file: 0, firstRecord: 5, records: 10 },
        { file: 0, firstRecord: 15, records: 10 },
        { file: 1, firstRecord: 0, records: 5 },
        { file: 1, firstRecord: 5, records: 5 },
      ],
    ],
  } as unknown as Parameters<typeof describeRecords>[0];
  expect(describeRecords(dataset, 0, 8, 22)).toBe(
    'a records 14 to 15 (chunk 0), a records 16 to 25 (chunk 1), b records 1 to 2 (chunk 2)',
  );
  expect(describeRecords(dataset, 0, 0, 1)).toBe('a records 6 to 6 (chunk 0)');
  expect(describeRecords(dataset, 0, 0, 30)).toBe(
    'a records 6 to 15 (chunk 0), a records 16 to 25 (chunk 1) and 2 more parts',
  );
});
