/** Data of which no record is good is an error, not a score. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type EvaluateOptions, evaluateFiles } from '../../../src/roles/evaluator/evaluate-files.ts';
import { aJob, recordOf } from '../../cluster/job/stored-job.ts';
import { testPlace } from '../../data/place.ts';

const UNUSED = { pull: () => Promise.reject(new Error('no record needs parameters')) };

function options(files: Record<string, string>): EvaluateOptions {
  const place = testPlace();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place.folder, name), text);
  return {
    ...{ place, record: recordOf(aJob()), client: UNUSED, files: Object.keys(files), labels: [] },
    ...{ signal: new AbortController().signal, onTask: () => {} },
  };
}

test('a file of another kind: what it looks like, and what to do', async () => {
  await expect(evaluateFiles(options({ a: '1,2\n3,4\n', b: '5,6\n' }))).rejects.toMatchObject({
    code: 'DataInvalid',
    exitCode: 3,
    message: expect.stringMatching(/^there is no good record in a, b: a:1: label "1,2" .*; it looks like .*CSV/),
    hint: expect.stringContaining('label id:value'),
  });
});

test('a file that looks like nothing', async () => {
  await expect(evaluateFiles(options({ passwd: 'root:x:0:0:root:/root:/bin/bash\n' }))).rejects.toMatchObject({
    code: 'DataInvalid',
    message: expect.stringContaining('there is no good record in passwd: passwd:1: '),
    hint: expect.stringContaining('data.format'),
  });
});
