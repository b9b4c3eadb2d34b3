import { expect, test } from 'vitest';
import { outputFailed } from '../../../src/commands/base/machine-errors.ts';

test.each([
  ['run', 'the job has ended and its result is in the store'],
  ['predict', 'some scores were not written'],
  ['evaluate', 'the command itself succeeded'],
])('an output of %s that cannot be written: says what has been done', (command, hint) => {
  const error = outputFailed(new Error('ENOSPC'), command);
  expect(error).toMatchObject({ code: 'OutputFailed', message: 'the output could not be written: ENOSPC' });
  expect(error.hint).toContain(hint);
});
