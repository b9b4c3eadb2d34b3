/** What a file that cannot be read as libsvm looks like, from some of its lines. Pure. */

export interface Appearance {
  /** For "it looks like …". */
  readonly what: string;
  /** What to do about it. */
  readonly hint: string;
}

type Test = readonly [matches: (lines: readonly string[]) => boolean, appearance: Appearance];

const EXPECTED = 'a libsvm record is a line "label id:value id:value …"';
const convert = (from: string): string => `convert it: ${EXPECTED}; data.format has no ${from}`;

const NUMBER = '[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?';
const FEATURES = `(?:\\s+\\d+:${NUMBER})*`;
const RECORD = new RegExp(`^\\s*${NUMBER}${FEATURES}\\s*$`);
/** Labels of `binary`. */
const BINARY_LABEL = /^\s*[+-]?[01](?:\s|$)/;
const RANKING = /^\s*\S+\s+qid:\S+/;
const FIELDS = /^\s*\S+(?:\s+\d+:\d+:\S+)+\s*$/;
const NAMESPACES = /^[^|,{]*\|\S*\s/;

const all =
  (matches: (line: string) => boolean) =>
  (lines: readonly string[]): boolean =>
    lines.every(matches);
const begins =
  (...bytes: readonly number[]) =>
  ([line = '']: readonly string[]): boolean =>
    bytes.every((byte, at) => line.charCodeAt(at) === byte);
const separatedBy =
  (separator: string) =>
  (lines: readonly string[]): boolean => {
    const columns = lines.map((line) => line.split(separator).length);
    return columns[0]! > 1 && columns.every((count) => count === columns[0]);
  };
/** It has a control character other than a tab or a line break, as no text has. */
const isBinary = (line: string): boolean =>
  Array.from(line, (character) => character.charCodeAt(0)).some((code) => code < 32 && (code < 9 || code > 13));

/** The first one that matches counts. */
const TESTS: readonly Test[] = [
  [begins(0x50, 0x41, 0x52, 0x31), { what: 'a Parquet file', hint: convert('Parquet') }],
  [
    begins(0x50, 0x4b, 3, 4),
    { what: 'a zip archive', hint: 'unpack it, or pack it as gzip, which paddlet reads as it is' },
  ],
  [
    begins(0, 0, 8),
    { what: 'an idx file (MNIST)', hint: 'set data.format to idx, and model.type to one for dense inputs' },
  ],
  [
    ([line = '']) => /^\s*<(?:!doctype|html|\?xml)/i.test(line),
    { what: 'a web page', hint: 'a download went wrong: fetch the file again and look at it' },
  ],
  [(lines) => lines.some(isBinary), { what: 'a binary file', hint: `check the path and data.format: ${EXPECTED}` }],
  [all((line) => /^\s*[{[]/.test(line)), { what: 'JSON', hint: convert('JSON') }],
  [
    all((line) => RANKING.test(line)),
    {
      what: 'ranking data (qid:)',
      hint: 'no model of paddlet ranks: remove the qid: column and use labels of model.task',
    },
  ],
  [
    all((line) => FIELDS.test(line)),
    { what: 'libffm (label field:id:value)', hint: 'remove the fields: libsvm and libfm have id:value' },
  ],
  [
    all((line) => NAMESPACES.test(line)),
    { what: 'Vowpal Wabbit text (label |namespace …)', hint: convert('Vowpal Wabbit text') },
  ],
  [
    all((line) => RECORD.test(line) && !BINARY_LABEL.test(line)),
    {
      what: 'libsvm with labels that the model does not take',
      hint: 'set model.task to regression if the labels are numbers; else correct them, or allow some with data.maxBadRecords',
    },
  ],
  [separatedBy('\t'), { what: 'tab-separated values (TSV)', hint: convert('TSV') }],
  [separatedBy(','), { what: 'comma-separated values (CSV)', hint: convert('CSV') }],
  [separatedBy(';'), { what: 'values separated by semicolons (CSV)', hint: convert('CSV') }],
];

/** Undefined when the lines (not empty, perhaps cut off) look like nothing that is known. */
export function appearanceOf(lines: readonly string[]): Appearance | undefined {
  if (lines.length === 0) return undefined;
  return TESTS.find(([matches]) => matches(lines))?.[1];
}
