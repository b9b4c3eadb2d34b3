import { expect, test } from 'vitest';
import { answerTimeoutMs } from '../../../src/cluster/client/answer-timeout.ts';

test('a request that its receiver may hold times out that much later', () => {
  expect(answerTimeoutMs({ type: 'getTasks', maxWaitMs: 20_000 }, 10_000)).toBe(30_000);
  expect(answerTimeoutMs({ type: 'finishTasks' }, 10_000)).toBe(10_000);
});
