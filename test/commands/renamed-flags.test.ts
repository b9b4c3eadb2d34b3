import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { withNewNames } from '../../src/commands/base/renamed-flags.ts';
import { runCommand } from './run-command.ts';

const renamed = (id: string, ...argv: string[]) => {
  const warnings: string[] = [];
  return { argv: withNewNames(id, argv, (text) => warnings.push(text)), warnings };
};

it.each([
  ['init', ['--force'], ['--replace'], '--force is now called --replace'],
  ['data:synth', ['--out=x', '--out', 'y'], ['--output=x', '--output', 'y'], '--out is now called --output'],
  ['status', ['--output', 'wide', '--json'], ['--wide', '--json'], '--output wide is now called --wide'],
  ['status', ['--output=wide'], ['--wide'], '--output wide is now called --wide'],
  ['status', ['-o', 'wide'], ['--wide'], '-o wide is now called --wide'],
  ['status', ['--wait', 'done'], ['--until', 'done'], '--wait is now called --until'],
  ['restore', ['--wait', '5s'], ['--lease-wait', '5s'], '--wait is now called --lease-wait'],
  ['evaluate', ['--checkpoint', 'a', '--json'], ['a', '--json'], '--checkpoint PATH is now written PATH'],
  ['evaluate', ['--checkpoint=a'], ['a'], '--checkpoint PATH is now written PATH'],
  ['logs', ['--level', 'warn'], ['--log-level', 'warn'], '--level is now called --log-level'],
])('%s %j is %j, with one warning', (id, argv, now, warning) => {
  expect(renamed(id, ...argv)).toEqual({ argv: now, warnings: [warning] });
});

it('other words stay: after --, in values, of other commands', () => {
  const words = ['--name=--force', '--', '--force'];
  expect(renamed('init', ...words)).toEqual({ argv: words, warnings: [] });
  expect(renamed('predict', '--format', 'csv')).toEqual({ argv: ['--format', 'csv'], warnings: [] });
});

it('an old name works, warns on stderr and leaves JSON alone', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'paddlet-renamed-'));
  writeFileSync(join(cwd, 'text'), '1 2:1\n');
  const pack = ['data', 'recordio', 'pack', 'text', '-o', 'out', '--force', '--json'];
  const { code, out, err } = await runCommand(pack, { cwd });
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ records: 1 });
  expect(err).toBe('warning: --force is now called --replace\n');
});
