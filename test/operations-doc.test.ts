/**
 * docs/operations.md says what the code does: exit codes, series, flags, environment, what a role says when it waits.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../src/base/errors.ts';
import { LIMITS } from '../src/base/limits.ts';
import { PSERVER_SHARES, TRAINER_TIMES } from '../src/cluster/role-times.ts';
import { everyFlags } from '../src/commands/base/flags.ts';
import { COMMANDS } from '../src/commands/index.ts';
import { ROOT, sourceFiles } from './source-files.ts';

const docs = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
const sources = sourceFiles('bin', 'src');

/** The text under a heading, up to the next one of the same depth. */
function section(heading: string): string {
  const start = docs.indexOf(`\n${heading}\n`);
  expect(start, heading).toBeGreaterThan(0);
  const depth = heading.slice(0, heading.indexOf(' ') + 1);
  const end = docs.indexOf(`\n${depth}`, start + 1 + heading.length);
  return docs.slice(start, end < 0 ? docs.length : end);
}

/** A row of a table that begins with names, one of them this one. */
const rowOf = (name: string): RegExp => new RegExp(`^\\| [^|]*\`${name}\`[^|]* \\|`, 'm');

describe('docs/operations.md', () => {
  it('has the exit codes as they are', () => {
    const rows = [...section('## Exit codes').matchAll(/^\| (\d+) \| `(\w+)` \|/gm)];
    expect(Object.fromEntries(rows.map(([, code, name]) => [name, Number(code)]))).toEqual({ ...EXIT });
  });

  it('has every series that the code registers, and no other', () => {
    const registered = sources.flatMap(({ text }) => text.match(/(?<=')paddlet_[a-z_]+(?=')/g) ?? []);
    const rows = [...section('## Health and metrics').matchAll(/^\| `(paddlet_[a-z_]+)` \|/gm)].map(([, name]) => name);
    expect(rows.length).toBeGreaterThan(10);
    expect([...rows].sort()).toEqual([...new Set(registered)].sort());
  });

  it('names the phases of a trainer', () => {
    expect(section('## Health and metrics')).toContain(`phase: ${TRAINER_TIMES.join(', ')}`);
    const text = section('### Where the time goes');
    for (const phase of [...TRAINER_TIMES, ...PSERVER_SHARES]) expect(text).toMatch(rowOf(phase));
  });

  it('names the phases of a pserver', () => {
    expect(section('## Health and metrics')).toContain(`phase: ${PSERVER_SHARES.join(', ')}`);
  });

  it.each(COMMANDS)('has the flags of $id', async ({ load }) => {
    const flags = section('## Commands and flags');
    for (const name of Object.keys((await load()).flags)) expect(flags, name).toContain(`\`--${name}\``);
  });

  it('has the flags of every command, and no other', async () => {
    const classes = await Promise.all(COMMANDS.map(({ load }) => load()));
    const known = new Set([...Object.keys(everyFlags), 'help', ...classes.flatMap(({ flags }) => Object.keys(flags))]);
    const rows = section('## Commands and flags').match(/^\| `--.*$/gm) ?? [];
    const named = rows.flatMap((row) => [...row.split(' | ')[0]!.matchAll(/`--([a-z-]+)`/g)].map(([, name]) => name!));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
    for (const name of Object.keys(everyFlags)) expect(named).toContain(name);
  });

  it('has every environment variable, and no other', () => {
    const read = sources.flatMap(({ text }) => text.match(/PADDLET_[A-Z_]+/g) ?? []);
    const named = docs.match(/PADDLET_[A-Z_]+/g) ?? [];
    expect([...new Set(named)].sort()).toEqual([...new Set(read)].sort());
  });

  it('has what a role says when it waits, in the words of the code', () => {
    const all = sources.map(({ text }) => text).join('\n');
    const rows = [...section('### Waiting').matchAll(/^\| `(?:waiting for )?([^`]+)` \|/gm)].map(([, text]) => text!);
    expect(rows.length).toBeGreaterThan(10);
    // Names in capitals and numbers stand for what the code fills in: the words between them must be there.
    for (const row of rows) {
      const words = row.split(/…|\b[A-Z]+\b|\d+|[(:;,]/).map((part) => part.trim());
      for (const part of words.filter((part) => part.length > 8)) expect(all, row).toContain(part);
    }
  });

  it('has the limits as they are', () => {
    const text = section('## Sizes and limits');
    const counts = ['pservers', 'shards', 'trainers', 'tasks', 'batchRecords', 'featuresPerRecord'] as const;
    for (const name of counts) expect(text, name).toContain(LIMITS[name].toLocaleString('en'));
    expect(text).toContain(`${LIMITS.frameBytes / 2 ** 20} MiB`);
    expect(text).toContain(`${LIMITS.recordBytes / 2 ** 20} MiB`);
    expect(text).toContain(`${LIMITS.storeValueBytes / 1e6} MB, and ${LIMITS.storeTxnOps} operations`);
    expect(text).toContain(`job file | ${LIMITS.jobFileBytes / 2 ** 20} MiB`);
  });
});
