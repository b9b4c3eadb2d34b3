import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { inAll, ranFiles, type ScriptRan } from '../../../scripts/house/crossed-files.ts';

const ROOT = '/made/root';
/** The module, and one function in it with these counts of its blocks. */
const script = (path: string, ...counts: number[]): ScriptRan => ({
  url: pathToFileURL(`${ROOT}/${path}`).href,
  functions: [
    { ranges: [{ startOffset: 0, count: 1 }] },
    { ranges: counts.map((count, at) => ({ startOffset: 10 + at, count })) },
  ],
});

test('a file counts when a function of it ran, or went on; not when it was loaded, and not outside of src', () => {
  const scripts = [
    ...[script('src/called.ts', 2), script('src/resumed.ts', 0, 1), script('src/loaded.ts', 0)],
    ...[script('test/called.ts', 1), { ...script('src/x.ts', 1), url: 'node:fs' }],
  ];
  expect([...ranFiles(scripts, ROOT)]).toEqual(['src/called.ts', 'src/resumed.ts']);
});

test('what a timer ran in one window alone is left out', () => {
  expect(inAll([new Set(['b', 'a']), new Set(['a', 'timer', 'b'])])).toEqual(['a', 'b']);
});
