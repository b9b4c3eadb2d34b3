/** The mutations still fit the source. Whether something notices them, `scripts/mutations.ts` finds out. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MUTATIONS } from './all.ts';
import { mutated } from './apply.ts';

test.each(MUTATIONS)('$rule', (mutation) => {
  const source = readFileSync(mutation.file, 'utf8');
  expect(mutated(mutation, source)).not.toBe(source);
  expect(mutation.schedules !== undefined || (mutation.tests ?? []).length > 0).toBe(true);
  for (const path of mutation.tests ?? []) expect(existsSync(path), path).toBe(true);
});

test('each rule is named once', () => {
  const rules = MUTATIONS.map(({ rule }) => rule);
  expect(new Set(rules).size).toBe(rules.length);
});

test('the rules of replicas that a decision names have mutations', () => {
  const text = readFileSync('docs/decisions/0111-replicas-in-async-mode.md', 'utf8');
  const named = text.split('\n').flatMap((line) => [...(line.startsWith('| ') ? line.matchAll(/\*(.+?)\*/g) : [])]);
  const rules = MUTATIONS.map(({ rule }) => rule);
  expect(named.length).toBeGreaterThan(0);
  for (const [, rule] of named) expect(rules).toContain(rule);
});
