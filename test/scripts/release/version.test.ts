import { expect, test } from 'vitest';
import { nextVersion } from '../../../scripts/release/version.ts';

test.each([
  ['0.1.0', 'patch', '0.1.1'],
  ['0.1.9', 'minor', '0.2.0'],
  ['1.9.9', 'major', '2.0.0'],
  ['0.1.0', '0.1.0', '0.1.0'],
  ['0.9.0', '0.10.0', '0.10.0'],
  ['1.2.3', '2.0.0', '2.0.0'],
])('after %s, %s is %s', (current, bump, next) => {
  expect(nextVersion(current, bump)).toBe(next);
});

test.each([
  ['0.10.0', '0.9.9'],
  ['1.0.0', '0.99.99'],
  ['1.2.3', '1.2.2'],
])('%s is not followed by %s', (current, bump) => {
  expect(() => nextVersion(current, bump)).toThrow(`${bump} is lower than ${current}`);
});

test.each(['1.2', 'v1.2.3', '1.2.3-rc.1', '01.2.3', 'Patch', ''])('"%s" is not a version', (bump) => {
  expect(() => nextVersion('0.1.0', bump)).toThrow(`"${bump}" is not a version`);
});
