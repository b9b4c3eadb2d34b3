import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withLockVersion, withPackageVersion } from '../../../scripts/release/package-version.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../..', name), 'utf8');
/** The lines in which two texts of as many lines differ. */
const changed = (before: string, after: string): string[] => {
  const lines = before.split('\n');
  const others = after.split('\n');
  expect(others).toHaveLength(lines.length);
  return others.filter((line, at) => line !== lines[at]).map((line) => line.trim());
};

test('package.json changes in one line', () => {
  const text = read('package.json');
  expect(changed(text, withPackageVersion(text, '99.0.1'))).toEqual(['"version": "99.0.1",']);
});

test('package-lock.json changes in two lines', () => {
  const text = read('package-lock.json');
  expect(changed(text, withLockVersion(text, '99.0.1'))).toEqual(['"version": "99.0.1",', '"version": "99.0.1",']);
});
