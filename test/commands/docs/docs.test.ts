/** `paddlet docs`: the documents, their headings, and pages of the manual. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/commands/base/oclif-config.ts';
import { commandPage, overviewPage } from '../../../src/commands/docs/man-page.ts';
import { TEXTS } from '../../../src/commands/docs/texts.ts';
import { topicText } from '../../../src/commands/docs/topic.ts';
import { COMMANDS } from '../../../src/commands/index.ts';
import { ROOT, sourceFiles } from '../../source-files.ts';
import { runCommand } from '../run-command.ts';

const { commands } = await loadConfig(COMMANDS);

const docs = (...words: string[]) => runCommand(['docs', ...words], { cwd: tmpdir() });

test('lists every document with its title', async () => {
  const { code, out } = await docs();
  expect(code).toBe(0);
  expect(out).toContain('job-file           The job file\n');
  expect(out.trim().split('\n')).toHaveLength(Object.keys(TEXTS).length + 1);
});

test.each(['data', 'data.md', 'docs/data.md'])('%s is shown whole', async (topic) => {
  const text = readFileSync(join(ROOT, 'docs/data.md'), 'utf8');
  expect(await docs(topic)).toEqual({ code: 0, out: `${text.trimEnd()}\n`, err: '' });
});

test('a heading is shown up to the next one that is no part of it', () => {
  const a = '# A\nx\n## B: b, `c`\none\n### D\ntwo\n```\n# no heading\n```\n## E\nthree\n';
  expect(topicText({ a }, 'a#b-b-c')).toBe('## B: b, `c`\none\n### D\ntwo\n```\n# no heading\n```');
  expect(topicText({ a }, 'a#E')).toBe('## E\nthree\n');
});

test.each([
  ['oprations', 'no such topic: oprations', 'did you mean `paddlet docs operations`?'],
  ['aids', 'no such topic: aids', 'did you mean `paddlet docs training-aids`?'],
  ['frobnicate', 'no such topic: frobnicate', '`paddlet docs` lists all topics'],
  ['operations#sync', 'operations does not have a heading sync', 'did you mean `paddlet docs operations#sync-mode`?'],
])('%s suggests', async (topic, message, hint) => {
  expect(await docs(topic)).toEqual({ code: 2, out: '', err: `error Usage: ${message}\nhint: ${hint}\n` });
});

test('every topic that the code names is there, and no message names a file in its place', () => {
  const code = sourceFiles('bin', 'src').map(({ text }) => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''));
  const named = code.flatMap((text) =>
    [...text.matchAll(/paddlet docs ([a-z][a-z-]+(?:#[a-z-]+)?)/g)].map(([, one]) => one!),
  );
  expect(named.length).toBeGreaterThan(3);
  for (const topic of named) expect(topicText(TEXTS, topic)).not.toBe('');
  expect(code.flatMap((text) => text.match(/docs\/[a-z-]+\.md/g) ?? [])).toEqual([]);
});

describe('the manual', () => {
  /** What a formatter of the machine says of a page; undefined where there is none. */
  function complaints(roff: string): string | undefined {
    const { error, stderr } = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-z'], { input: roff, encoding: 'utf8' });
    if (error === undefined) return stderr;
    process.stderr.write('groff is missing: pages are not formatted\n');
    return undefined;
  }

  test.each(commands)('$id', async (entry) => {
    const roff = await commandPage(entry);
    for (const name of Object.keys((await entry.load()).flags)) {
      expect(roff).toContain(`\\fB\\-\\-${name.replaceAll('-', '\\-')}\\fR`);
    }
    // A line of text that begins so would be taken for a request.
    const requests = roff.split('\n').flatMap((line) => /^[.'](\S*)/.exec(line)?.[1] ?? []);
    expect(
      [...new Set(requests)].filter((one) => !['TH', 'SH', 'TP', 'PP', 'nf', 'fi', 'RS', 'RE'].includes(one)),
    ).toEqual([]);
    expect(complaints(roff) ?? '').toBe('');
  });

  test('of paddlet, and by the command line', async () => {
    expect(await docs('--man')).toEqual({ code: 0, out: `${overviewPage(commands)}\n`, err: '' });
    expect(complaints(overviewPage(commands)) ?? '').toBe('');
    const { out } = await docs('--man', 'data', 'index');
    expect(out).toContain('.SH SYNOPSIS\n\\fBpaddlet\\fR data index PATH [FLAGS]\n');
    expect((await docs('--man', 'data', 'indx')).err).toContain('did you mean `paddlet data index`?');
  });
});
