/** What users read from the program: no text of the source has a word of `words.ts`. */
import { parseSync } from 'vite';
import { describe, expect, test } from 'vitest';
import { sourceFiles } from '../source-files.ts';
import { badWordsIn } from './words.ts';

/** Texts that have such words, each with its reason. */
const ALLOWED: Readonly<Record<string, string>> = {};

const isAllowed = (path: string): boolean => Object.keys(ALLOWED).some((prefix) => path.startsWith(prefix));

/** Three words and more are a text; fewer are a name or a key. */
const LEAST_WORDS = 3;
const isText = (text: string): boolean => text.split(/\s+/).filter((word) => /[a-z]/i.test(word)).length >= LEAST_WORDS;

/** A template without its expressions, as far as these have no braces. */
const withoutExpressions = (template: string): string => template.replaceAll(/\$\{[^{}]*\}/g, '…');

interface Found {
  readonly at: number;
  readonly text: string;
}

/** Strings, templates without their expressions, and texts of the page. */
function textsOf(path: string, source: string): Found[] {
  const found: Found[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, start, value } = node as Record<string, unknown>;
    if (type === 'ImportDeclaration') return;
    const at = Number(start);
    if ((type === 'Literal' || type === 'JSXText') && typeof value === 'string') found.push({ at, text: value });
    if (type === 'TemplateLiteral')
      found.push({ at, text: withoutExpressions(source.slice(at, Number((node as { end?: unknown }).end))) });
    for (const inner of Object.values(node)) visit(inner);
  };
  visit(parseSync(path, source).program.body);
  return found.filter(({ text }) => isText(text));
}

const wrongIn = (path: string, source: string): string[] =>
  textsOf(path, source).flatMap(({ at, text }) =>
    badWordsIn(text).map((wrong) => `${path}:${source.slice(0, at).split('\n').length}: ${wrong}`),
  );

describe('words that users read', () => {
  test('are plain in every text of the source', () => {
    const files = sourceFiles('src').filter(({ path }) => !isAllowed(path));
    expect(files.flatMap(({ path, text }) => wrongIn(path, text))).toEqual([]);
  });

  test('are found in strings, templates and texts of the page', () => {
    const source = [
      "const a = 'a is no file';",
      'const b = `the job is gone`;',
      'const c = <p>it goes on without it</p>;',
    ].join('\n');
    expect(wrongIn('a.tsx', source)).toEqual([
      "a.tsx:1: 'is no': write is not a",
      "a.tsx:2: 'is gone': write was removed, disconnected",
      "a.tsx:3: 'goes on': write continues",
    ]);
  });

  test('are not sought in comments, names and flags', () => {
    const source = "/** It is gone. */\nconst begun = 1;\nconst a = ['begun', 'no longer', '--at-hand'];";
    expect(wrongIn('a.ts', source)).toEqual([]);
  });

  test('"is no longer" is no bad word', () => {
    expect(badWordsIn('the job is no longer there, and is not a file')).toEqual([]);
  });
});
