/** What bad lines look like: one sample for each kind of file that people give by mistake. */
import { expect, test } from 'vitest';
import { appearanceOf } from '../../src/data/appearance.ts';

const look = (...lines: string[]): string | undefined => appearanceOf(lines)?.what;

test.each([
  ['comma-separated values (CSV)', ['5.1,3.5,1.4,0.2,0', '4.9,3.0,1.4,0.2,1']],
  ['comma-separated values (CSV)', ['sepal length,sepal width,class', '5.1,3.5,setosa']],
  ['values separated by semicolons (CSV)', ['7.4;0.7;5', '7.8;0.88;5']],
  ['tab-separated values (TSV)', ['0\t1\t1\t5\t68fd1e64', '1\t2\t0\t44\t287e684f']],
  ['JSON', ['{"label": 1, "x": [1, 2]}', '{"label": 0, "x": [3, 4]}']],
  ['JSON', ['[1, 0.5, 2]', '[0, 0.1, 3]']],
  ['ranking data (qid:)', ['2 qid:10 1:0.03 2:0.6', '4 qid:10 1:0.1']],
  ['libffm (label field:id:value)', ['1 0:5:1 1:9:0.5', '0 0:3:1']],
  ['Vowpal Wabbit text (label |namespace …)', ['1 |f price:0.23 sqft:0.25', '-1 |f price:0.1']],
  ['libsvm with labels that the model does not accept', ['24.0 1:0.00632 2:18', '21.6 1:0.02731 2:-0.5e-3']],
  ['libsvm with labels that the model does not accept', ['3 1:0.5', '2 7:1']],
  ['multi-label libsvm (labels with commas)', ['3,17 2:1 5:1', '1,4 3:1']],
  ['libsvm with decimal commas', ['0 2:0,5 7:0,5', '1 3:0,25']],
  ['libsvm without labels, or with weights (label:weight)', ['1:0.5 3:1', '0:2 4:1']],
  ['libsvm with names for ids', ['1 cost:0.5 3:1', '0 3:1 cost:1']],
  ['libsvm with names for ids', ['1 user_12:1', '0 user_2:1']],
  ['libsvm with names for ids', ['1 qid:3 cost:0.5']],
  ['libsvm with decimal commas', ['1 qid:3 1:0,5']],
  ['libsvm with ids without values, or with a header line', ['1 5 7', '0 3']],
  ['libsvm with ids without values, or with a header line', ['400 40 2']],
  ['a bzip2 file', ['BZh91AY&SY']],
  ['an xz file', ['\xfd7zXZ\0\0']],
  ['a tar archive', [`ok.svm${'\0'.repeat(251)}ustar  \x001 1:1`]],
  ['UTF-16 text', ['\xff\xfe1\0 \x001\0:\0']],
  ['UTF-16 text', ['\xfe\xff\x001\0 ']],
  ['UTF-16 text', ['1\0 \x001\0:\0']],
  ['a web page', ['<!DOCTYPE html>', '<html lang="en">']],
  ['a zip archive', ['PK\x03\x04\x14\0\0']],
  ['a Parquet file', ['PAR1\x15\x04']],
  ['an idx file (MNIST)', ['\0\0\x08\x03\0\0']],
  ['a binary file', ['\x7fELF\x02\x01']],
  ['a binary file', ['\x93\x9a\x01\x8e\x8bab\xff\x81c']],
  ['text with NUL bytes', ['1 5:1\0 9:0.5']],
])('%s', (what, lines) => {
  expect(look(...lines)).toBe(what);
});

test('libffm and libsvm given as each other say which format it is', () => {
  expect(appearanceOf(['1 0:5:1 1:9:0.5', '0 0:3:1'])?.hint).toBe('set data.format to libffm');
  const sparse = ['1 5:1 9:0.5', '0:2 qid:3 3:1'];
  expect(appearanceOf(sparse, true)).toEqual({ what: 'libsvm (label id:value)', hint: 'set data.format to libsvm' });
  expect(appearanceOf(['1 0:5:x'], true)).toBeUndefined();
});

test('a single bad token among good ones looks like nothing else', () => {
  expect(look('1 5:x')).toBeUndefined();
  expect(look('1 5:1 oops 6:1', '0 1:1 2')).toBeUndefined();
  expect(look('1 5:1e99')).toBeUndefined();
  expect(look('1 qid:user7 1:1')).toBeUndefined();
  expect(look()).toBeUndefined();
});

test('lines of different kinds look like nothing: columns must agree in number', () => {
  expect(look('a,b,c', 'a,b')).toBeUndefined();
  expect(look('1,2', '1 5:x')).toBeUndefined();
});

test('each says what to do', () => {
  expect(appearanceOf(['1,2'])?.hint).toContain('data.format to csv');
  expect(appearanceOf(['7.5 1:1'])?.hint).toContain('model.task');
  expect(appearanceOf(['4 1:1', '2 1:1'])?.hint).toContain('as 1 and 0');
  expect(appearanceOf(['\0\0\x08\x03'])?.hint).toContain('data.format');
});
