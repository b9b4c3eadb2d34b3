import { describe, expect, it } from 'vitest';
import { carriedRecord, recordCarriedIn } from '../../../src/cluster/job/carried-record.ts';
import { JOB_RECORD_VERSION } from '../../../src/cluster/job/job-record.ts';
import { aJob, recordOf } from './stored-job.ts';

const CSV = {
  train: 'train.csv',
  format: 'csv',
  columns: { click: 'label', price: 'number' },
};
const statistics = [{ name: 'price', present: 2, missing: 1, mean: 1.5, deviation: 0.5, min: 1, max: 2 }];
const job = aJob({ data: CSV });
const record = recordOf(job, { train: { columns: { fields: 2, statistics } } });
const { id } = record;

const refusal = (carried: { job?: string; jobId?: string }): unknown => {
  try {
    return recordCarriedIn({ jobId: id, ...carried }, 'some/file');
  } catch (error) {
    return error;
  }
};

describe('the record that a checkpoint carries', () => {
  it('is that of the job, with its columns and statistics', () => {
    expect(recordCarriedIn({ jobId: id, job: carriedRecord(record) }, 'f')).toEqual(record);
  });

  it('has no commands of the job', () => {
    const hooks = { before: ['curl -H "Authorization: secret"'], after: ['true'] };
    const carried = carriedRecord({ ...record, job: { ...job, hooks } });
    expect(carried).not.toContain('secret');
    expect(recordCarriedIn({ jobId: id, job: carried }, 'f')).toEqual(record);
  });

  it('is asked for with a hint where a file has none', () => {
    expect(refusal({})).toMatchObject({
      code: 'VersionMismatch',
      message: expect.stringMatching(/^some\/file: .*does not contain the record of its job/),
      hint: expect.stringContaining('--dir'),
    });
  });

  it('is refused when it is of another version, another job, or unreadable', () => {
    const version = JOB_RECORD_VERSION + 1;
    expect(refusal({ job: JSON.stringify({ ...record, version }) })).toMatchObject({
      code: 'VersionMismatch',
      message: expect.stringContaining('some/file'),
      hint: 'use the paddlet version that wrote the file',
    });
    expect(refusal({ job: carriedRecord(record), jobId: 'another' })).toMatchObject({
      code: 'CheckpointCorrupt',
      message: expect.stringMatching(`to job another.*record of job ${id}`),
    });
    for (const damaged of ['{', '{}', JSON.stringify({ ...record, job: {} })]) {
      expect(refusal({ job: damaged })).toMatchObject({ code: 'CheckpointCorrupt' });
    }
  });
});
