/** The figures of a made tree of three files. */
import { expect, test } from 'vitest';
import { countsOf, exportedValues, filesNaming, optionLines, roomsOf, sizesIn } from '../../../scripts/house/counts.ts';
import { blank, importsOf, type SourceFile } from '../../source-files.ts';

const file = (path: string, text: string): SourceFile => ({
  ...{ path, text, code: blank(text), lines: text.split('\n').length - 1, imports: importsOf(path, text) },
});

const TREE = [
  file('src/core/a.ts', "import { b } from './units/b.ts';\nimport type { C } from './c.ts';\n\nexport const a = b;\n"),
  file('src/core/c.ts', 'export interface COptions {\n  readonly c: number;\n}\nexport type C = COptions;\n'),
  file('src/core/units/b.ts', "// Not adagrad.\nexport const b = () => import('../a.ts');\n"),
];

test('sizes, imports, importers, and a circle closed by import()', () => {
  expect(countsOf(TREE)).toEqual({
    ...{ lines: 10, files: 3, medianLines: 4 },
    options: { interfaces: 1, lines: 3 },
    ...{ imports: 3, oneImporter: 3, oneValueForOneImporter: 2 },
    circles: ['src/core/a.ts → src/core/units/b.ts → src/core/a.ts'],
  });
});

test('the rooms of a folder, and the rooms that files are in', () => {
  expect(sizesIn(TREE, 'src/core')).toEqual({
    all: { lines: 10, files: 3 },
    rooms: { '.': { lines: 8, files: 2 }, units: { lines: 2, files: 1 } },
  });
  expect(roomsOf([...TREE.map(({ path }) => path), 'src/roles/pserver/transfer/moves.ts'])).toEqual({
    ...{ core: 2, 'core/units': 1, 'roles/pserver': 1 },
  });
});

test('a name counts in code and in paths, not in comments', () => {
  expect(filesNaming(TREE, 'adagrad')).toEqual([]);
  const named = [file('src/tensor/adagrad.ts', ''), file('src/job/fields.ts', 'const fieldsOfAdagrad = 1; // x\n')];
  expect(filesNaming([...TREE, ...named], 'adagrad')).toEqual(['src/tensor/adagrad.ts', 'src/job/fields.ts']);
});

test('exported values, of any form; types are none', () => {
  const values = ['async function a() {}', 'abstract class B {}', 'const c = 1;', "{ d, type E } from './d.ts';"];
  const types = ['interface F {}', 'type G = 1;', "type { H } from './h.ts';"];
  expect(exportedValues([...values, ...types].map((what) => `export ${what}\n`).join(''))).toBe(4);
});

test('an empty interface of options ends where it begins', () => {
  expect(optionLines('export interface AOptions extends B {}\n\nexport interface C {\n  c: 1;\n}\n')).toEqual([1]);
});
