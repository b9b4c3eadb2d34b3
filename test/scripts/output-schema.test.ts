import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OUTPUTS, outputJsonSchema } from '../../scripts/output-schema/index.ts';
import { COMMANDS } from '../../src/commands/index.ts';
import { checkPrinted } from '../printed-json.ts';
import { importsOf, ROOT, sourceFiles } from '../source-files.ts';

test('docs/output.schema.json is the schema of this version', () => {
  const committed = JSON.parse(readFileSync(join(ROOT, 'docs/output.schema.json'), 'utf8'));
  expect(committed, 'npm run build:output-schema').toEqual(outputJsonSchema());
});

test('each command has a schema, but for those that print no result', () => {
  const silent = ['pserver', 'trainer'];
  expect([...Object.keys(OUTPUTS), ...silent].sort()).toEqual(COMMANDS.map(({ id }) => id).sort());
});

test('no command loads the schemas', () => {
  const users = sourceFiles('bin', 'src').filter(({ path, text }) =>
    importsOf(path, text).some(({ target }) => target.includes('output-schema/')),
  );
  expect(users.map(({ path }) => path)).toEqual([]);
});

test.each([
  ['a field that is not promised', '{"stopped":true,"seconds":1}', 0, /Unrecognized key: "seconds"/],
  ['a field that is missing', '{}', 0, /stopped/],
  [
    'an error with another exit code',
    '{"error":{"code":"Usage","message":"m","exit":2}}',
    0,
    /Unrecognized key: "error"/,
  ],
  ['an unknown code', '{"error":{"code":"Oops","message":"m","exit":1}}', 1, /error/],
  ['text', 'stopped', 0, /JSON/],
])('the comparison finds %s', (_, out, code, reason) => {
  expect(() => checkPrinted(['stop', '--json'], { code, out, err: '' })).toThrow(reason);
  expect(() => checkPrinted(['stop'], { code, out, err: '' })).not.toThrow();
});
