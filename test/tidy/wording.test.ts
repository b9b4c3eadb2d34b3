/** Plain English (CONTRIBUTING.md): no phrase of `banned-phrases.txt`, no line that a reader has to scroll. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../source-files.ts';

const MAX_COLUMNS = 120;
const LIST = 'test/tidy/banned-phrases.txt';

interface Text {
  readonly path: string;
  readonly text: string;
}

interface Phrase {
  readonly phrase: string;
  readonly better: string;
  readonly pattern: RegExp;
}

function textsBelow(folder: string): Text[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((path) => /\.(?:tsx?|css|md|sh|py|ya?ml)$/.test(path))
    .filter((path) => !/\/generated\/|^docs\/seeds\/|^test\/golden\//.test(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

const ownTexts = (): Text[] => [
  ...['bin', 'src', 'test', 'scripts', 'docs', 'examples', '.github'].flatMap(textsBelow),
  ...readdirSync(ROOT)
    .filter((path) => path.endsWith('.md') || path.endsWith('.sh'))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
];

/** Between two words: blanks, or a line break with the marker of a comment or list. */
const GAP = '(?:[ \\t]+|[ \\t]*\\n[ \\t]*(?:\\*|//|#)?[ \\t]*)';

export function parsePhrases(list: string): Phrase[] {
  return list
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [phrase, better] = line.split(' => ').map((part) => part.trim());
      if (phrase === undefined || better === undefined) throw new Error(`${LIST}: '${line}' is not 'phrase => better'`);
      return { phrase, better, pattern: new RegExp(`(?<!--)\\b${phrase.split(' ').join(GAP)}\\b`, 'gi') };
    });
}

function bannedIn({ path, text }: Text, phrases: readonly Phrase[]): string[] {
  return phrases.flatMap(({ phrase, better, pattern }) =>
    [...text.matchAll(pattern)].map(({ index }) => {
      const line = text.slice(0, index).split('\n').length;
      return `${path}:${line}: '${phrase}': write ${better}`;
    }),
  );
}

/** Rows of tables cannot be broken, nor can addresses; code that the formatter leaves long is a text of its own. */
const mayBeLong = (path: string, line: string): boolean =>
  path.endsWith('.md') ? /^\s*\||https?:\/\/\S{60}/.test(line) : !/^\s*(?:\/\/|\/?\*|#)/.test(line);

function longIn({ path, text }: Text): string[] {
  return text
    .split('\n')
    .flatMap((line, at) => (line.length > MAX_COLUMNS && !mayBeLong(path, line) ? [`${path}:${at + 1}`] : []));
}

describe('wording', () => {
  const phrases = parsePhrases(readFileSync(join(ROOT, LIST), 'utf8'));
  const texts = ownTexts();

  test('no banned phrase', () => {
    expect(texts.flatMap((text) => bannedIn(text, phrases))).toEqual([]);
  });

  test(`prose and comments have at most ${MAX_COLUMNS} columns`, () => {
    expect(texts.flatMap(longIn)).toEqual([]);
  });
});

describe('the checks themselves', () => {
  const phrases = parsePhrases('# a comment\n\nold way => new way\n');
  const found = (text: string): string[] => bannedIn({ path: 'a.ts', text }, phrases);

  test('a phrase is found in any case and across the lines of a comment, with its place', () => {
    expect(found('x\nThe Old way.')).toEqual(["a.ts:2: 'old way': write new way"]);
    expect(found('/**\n * the old\n * way\n */')).toEqual(["a.ts:2: 'old way': write new way"]);
    expect(found('// the old\n// way')).toHaveLength(1);
    expect(found('# the old\n# way')).toHaveLength(1);
  });

  test('parts of words and flags of a command line are none', () => {
    expect(found('bold way, old ways, oldway, --old way')).toEqual([]);
  });

  test('a long line is found in prose and comments, not in tables and code', () => {
    const long = 'a '.repeat(70);
    expect(longIn({ path: 'a.md', text: `x\n${long}` })).toEqual(['a.md:2']);
    expect(longIn({ path: 'a.md', text: `| ${long} |` })).toEqual([]);
    expect(longIn({ path: 'a.ts', text: `  // ${long}` })).toEqual(['a.ts:1']);
    expect(longIn({ path: 'a.ts', text: `const a = '${long}';` })).toEqual([]);
  });
});
