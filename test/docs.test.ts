/** The documents as a whole: links lead somewhere, every command and example is told of. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../src/commands/index.ts';
import { asInSample, sampleIn } from './samples.ts';
import { ROOT } from './source-files.ts';
import { badWordsIn, WORDED_PAGES } from './tidy/words.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const documents = ['.', 'docs', 'docs/decisions'].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

/** Without blocks of code, in which brackets are no links. */
const prose = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, '');

/** As GitHub makes them: lower case, spaces to hyphens, no punctuation but hyphens and underscores. */
function anchorOf(heading: string): string {
  const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  return plain.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
}

const anchorsOf = (text: string): Set<string> =>
  new Set([...prose(text).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!)));

interface Link {
  readonly target: string;
  readonly anchor: string | undefined;
}

function linksOf(text: string): Link[] {
  const found = [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  return found
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [target, anchor] = link.split('#');
      return { target: target!, anchor };
    });
}

/** What is wrong with a link in `document`, or undefined. */
function faultOf(document: string, { target, anchor }: Link): string | undefined {
  const path = target === '' ? join(ROOT, document) : resolve(ROOT, dirname(document), target);
  if (relative(ROOT, path).startsWith('..') || !existsSync(path)) return `${target}: there is no such file`;
  if (anchor === undefined || anchorsOf(readFileSync(path, 'utf8')).has(anchor)) return undefined;
  return `${target}#${anchor}: there is no such heading`;
}

test.each(documents)('%s links to files and headings that are there', (document) => {
  expect(
    linksOf(read(document))
      .map((link) => faultOf(document, link))
      .filter(Boolean),
  ).toEqual([]);
});

test('a link to nothing is found', () => {
  const text = '# A b\n[x](#a-b) [y](#c) [z](docs/none.md) [w](https://example.org/)\n```\n[v](no)\n```\n';
  expect(linksOf(text).map((link) => faultOf('README.md', link)?.replace(/:.*/, ''))).toEqual([
    '#a-b',
    '#c',
    'docs/none.md',
  ]);
});

test.each(WORDED_PAGES)('%s has plain words', (document) => {
  expect(badWordsIn(prose(read(document)))).toEqual([]);
});

test.each(documents)('%s names files of the source that are there', (document) => {
  const named = read(document).match(
    /(?<![\w./-])(?:bin|src|test|scripts|docs|examples)\/[\w./-]+\.(?:ts|sh|md|ya?ml|json)\b/g,
  );
  expect((named ?? []).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

/** Longer ones are hard to read, in a terminal above all: the rest is a list below the table. */
const MAX_CELL = 200;

const longCellsOf = (text: string): string[] =>
  prose(text)
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .filter((cell) => cell.length > MAX_CELL);

test.each(documents.filter((document) => !document.startsWith('docs/decisions/')))(
  '%s has no table with long cells',
  (document) => {
    expect(longCellsOf(read(document))).toEqual([]);
  },
);

test('a long cell of a table is found', () => {
  const [short, long] = [MAX_CELL, MAX_CELL + 1].map((length) => 'x'.repeat(length));
  expect(longCellsOf(`${long}\n| a | ${short} |\n|---|---|\n| ${short} | ${long} |\n`)).toEqual([long]);
});

test('every document is linked from the README, directly or through one that is', () => {
  const seen = new Set<string>();
  const visit = (document: string): void => {
    if (seen.has(document)) return;
    seen.add(document);
    for (const { target } of linksOf(read(document))) {
      const path = relative(ROOT, resolve(ROOT, dirname(document), target));
      if (documents.includes(path)) visit(path);
    }
  };
  visit('README.md');
  expect(documents.filter((document) => !seen.has(document))).toEqual([]);
});

describe('README.md and docs/operations.md', () => {
  const both = `${read('README.md')}\n${read('docs/operations.md')}`;

  test.each(COMMANDS.map(({ id }) => id.replaceAll(':', ' ')))('tell of paddlet %s', (command) => {
    expect(both).toMatch(new RegExp(`\\bpaddlet ${command}\\b`));
  });

  test('tell of no command that does not exist', () => {
    const known = new Set(COMMANDS.flatMap(({ id }) => [id.split(':')[0], id.replaceAll(':', ' ')]));
    const named = [...both.matchAll(/`paddlet ([a-z]+(?: [a-z]+)?)/g)].map(([, words]) => words!);
    expect(named.filter((words) => !known.has(words) && !known.has(words.split(' ')[0]))).toEqual([]);
  });

  test.each(readdirSync(join(ROOT, 'examples')).filter((name) => /\.(ya?ml|sh)$/.test(name)))(
    'tell of examples/%s',
    (name) => {
      expect(both).toContain(`examples/${name}`);
    },
  );
});

describe('a sample of output', () => {
  const sample = sampleIn('README.md', 'job clicks');

  test('is as itself', () => {
    expect(asInSample(sample, sample)).toBe(sample);
  });

  test.each([
    ['a word', 'in total', 'in all'],
    ['a number', '96 done', '95 done'],
    ['a metric that is far off', 'auc 0.7', 'auc 0.8'],
    ['a line too few', /^model .*\n/m, ''],
    ['the order of lines', /^(training .*\n)(test .*\n)/m, '$2$1'],
    ['the left-out end of a line', '(last pass; …)', '(…; last pass)'],
  ])('that differs in %s is found', (_what, from, to) => {
    const other = sample.replace(from, to);
    expect(other).not.toBe(sample);
    expect(asInSample(sample, other)).not.toBe(other);
  });
});
