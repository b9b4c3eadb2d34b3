import { expect, it } from 'vitest';
import { createResumePolicy } from '../../src/core/resume-policy.ts';

it('resumes a process after two lease times without its lease, once; one that is suspended again gets as long', () => {
  const policy = createResumePolicy(5_000);
  expect(policy.left([7], 0)).toEqual([10_000]);
  expect(policy.left([7, 8], 4_000)).toEqual([6_000, 10_000]);
  expect(policy.left([7, 8], 10_000)).toEqual([0, 4_000]);
  expect(policy.left([7, 8], 11_000)).toEqual([10_000, 3_000]);
});

it('forgets a process that somebody else has resumed', () => {
  const policy = createResumePolicy(5_000);
  policy.left([7], 0);
  policy.left([], 9_000);
  expect(policy.left([7], 11_000)).toEqual([10_000]);
});
