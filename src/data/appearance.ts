/** What a file that cannot be read as libsvm or libffm looks like, from some of its lines. Pure. */
import { isUtf8 } from 'node:buffer';
import { PaddletError } from '../base/errors.ts';
import { type Appearance, convert, packedAs } from './bytes/packed.ts';

type Test = readonly [matches: (lines: readonly string[]) => boolean, appearance: Appearance];

const NUMBER = '[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?';
const FEATURES = `(?:\\s+\\d+:${NUMBER})*`;
const RECORD = new RegExp(`^\\s*${NUMBER}${FEATURES}\\s*$`);
const ID_LIST = /^\s*\d+(?:,\d+)+(?:\s+\d+:\S+)*\s*$/;
const DECIMAL_COMMAS = /^\s*\S+(?:\s+qid:\d+)?(?:\s+\d+:[+-]?\d+(?:,\d+)?)*\s+\d+:[+-]?\d+,\d+(?:\s|$)/;
const WEIGHTED = new RegExp(`^\\s*${NUMBER}:${NUMBER}(?:\\s|$)`);
/** No number before the colon, and no group. */
const NAMED = /^\s*\S+(?:\s+qid:\d+)?(?:\s+\d+:\S+)*\s+(?!qid:)[A-Za-z_][^\s:|]*:/;
const VALUELESS = new RegExp(`^\\s*${NUMBER}(?:\\s+\\d+)+\\s*$`);
/** Labels of `binary`. */
const BINARY_LABEL = /^\s*[+-]?[01](?:\s|$)/;
/** Records of ranking data, whose labels are grades. */
const RANKING = /^\s*(?![+-]?[01]\s)\S+\s+qid:\d+(?:\s|$)/;
const SPARSE = new RegExp(`^\\s*${NUMBER}(?::${NUMBER})?(?:\\s+qid:\\d+)?(?:\\s+\\d+:${NUMBER})+\\s*$`);
/** No time of day behind a date. */
const FIELDS = new RegExp(`^\\s*${NUMBER}(?::${NUMBER})?(?:\\s+\\d+:\\d+:\\S+)+\\s*$`);
const NAMESPACES = /^[^|,{]*\|\S*\s/;
/** The same where bars may also separate columns: it has a name with a value. */
const NAMED_SPACES = /^(?:[^|,{]*\s)?\|\S*\s(?:.*\s)?[^\s|:]+:[\d.]/;

const all =
  (matches: (line: string) => boolean) =>
  (lines: readonly string[]): boolean =>
    lines.every(matches);
const begins =
  (...bytes: readonly number[]) =>
  ([line = '']: readonly string[]): boolean =>
    bytes.every((byte, at) => line.charCodeAt(at) === byte);
const twoLabels = (lines: readonly string[]): boolean =>
  new Set(lines.map((line) => Number(line.trim().split(/\s/, 1)[0]))).size <= 2;
const hasNuls = ([line = '']: readonly string[]): boolean => /^(?:[^\0]\0|\0[^\0]){2}/.test(line);
const separatedBy =
  (separator: string) =>
  (lines: readonly string[]): boolean => {
    const columns = lines.map((line) => line.split(separator).length);
    return columns[0]! > 1 && columns.every((count) => count === columns[0]);
  };
/** The part of the characters that may be control characters in a text: a stray one may be in a short line, too. */
const MOST_CONTROLS = 0.1;

/** Too many are control characters other than tabs and line breaks. */
function isBinary(lines: readonly string[]): boolean {
  const text = lines.join('');
  const codes = Array.from(text, (character) => character.charCodeAt(0));
  // In text that is not UTF-8, those from 128 on as well: Latin-1 has none of them.
  const isText = isUtf8(Buffer.from(text.replace(CUT_CHARACTER, ''), 'latin1'));
  const controls = codes.filter((code) => (code < 32 ? code < 9 || code > 13 : !isText && code > 126 && code < 160));
  return controls.length > Math.max(lines.length, MOST_CONTROLS * codes.length);
}

const columnsHint = (format: string): string =>
  `set data.format to ${format}, and describe the columns in data.columns, as \`paddlet init\` does`;

/** Signs that a file is not text of any format. The first match counts. */
const NO_TEXT: readonly Test[] = [
  [
    (lines) => begins(0xff, 0xfe)(lines) || begins(0xfe, 0xff)(lines) || hasNuls(lines),
    { what: 'UTF-16 text', hint: 'save it as UTF-8: iconv -f UTF-16 -t UTF-8 OLD > NEW' },
  ],
  [
    begins(0, 0, 8),
    { what: 'an idx file (MNIST)', hint: 'set data.format to idx, and model.type to softmax, mlp or layers' },
  ],
  [
    ([line = '']) => /^\s*<(?:!doctype|html|\?xml)/i.test(line),
    { what: 'a web page', hint: 'the download probably failed: download the file again' },
  ],
  [isBinary, { what: 'a binary file', hint: 'check the path and data.format' }],
];

const HAS_NULS: Appearance = {
  what: 'text with NUL bytes',
  hint: "remove the NUL bytes: tr -d '\\000' < OLD > NEW",
};
const NULS: Test = [(lines) => lines.some((line) => line.includes('\0')), HAS_NULS];
export const NUL_REASON = 'a NUL byte, which no text has';

/** `bytes`: the first of a file; its header ends at `end`. Throws `DataInvalid`, naming line and byte. */
export function refuseNul(path: string, bytes: Uint8Array, end: number): void {
  const at = bytes.indexOf(0);
  if (at < 0 || at >= end) return;
  const before = bytes.subarray(0, at);
  const line = before.reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 1);
  throw new PaddletError(
    'DataInvalid',
    `${path}:${line}:${at - before.lastIndexOf(NEWLINE)}: expected the header, found ${NUL_REASON}`,
    {
      hint: HAS_NULS.hint,
    },
  );
}

const JSON_TEXT: Test = [all((line) => /^\s*[{[]/.test(line)), { what: 'JSON', hint: columnsHint('jsonl') }];
const LIBFFM: Test = [
  all((line) => FIELDS.test(line)),
  {
    what: 'libffm (label field:id:value)',
    hint: 'set data.format to libffm',
  },
];
const LIBSVM: Test = [
  all((line) => SPARSE.test(line)),
  {
    what: 'libsvm (label id:value)',
    hint: 'set data.format to libsvm',
  },
];
const VOWPAL_WABBIT: Appearance = {
  what: 'Vowpal Wabbit text (label |namespace …)',
  hint: convert('Vowpal Wabbit text'),
};

/** Lines end in CR alone, as on old Macs: the whole text would be one line. */
const OLD_LINE_ENDS: Appearance = {
  what: 'text whose lines end in CR alone',
  hint: "write line ends as LF: tr '\\r' '\\n' < OLD > NEW",
};
const NEWLINE = 10;
const RETURN = 13;

/** `bytes`: the first of a text. Throws `DataInvalid`. */
export function refuseOldLineEnds(path: string, bytes: Uint8Array): void {
  const at = bytes.indexOf(RETURN);
  if (at < 0 || at >= bytes.length - 1 || bytes.includes(NEWLINE) || bytes.includes(0)) return;
  throw new PaddletError('DataInvalid', `${path} is ${OLD_LINE_ENDS.what}`, { hint: OLD_LINE_ENDS.hint });
}

const NO_UTF8: Appearance = {
  what: 'text that is not UTF-8, Latin-1 for example',
  hint: 'save it as UTF-8: iconv -f LATIN1 -t UTF-8 OLD > NEW',
};
/** Longer ones may be cut off. */
const LONG = 4000;
/** Matches the end of a text that was cut off inside a character. */
const CUT_CHARACTER = /[\x80-\xff]{1,3}$/;
/** The character that replaces bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

/** Why a job file cannot contain these texts, and what to do; undefined if it can. */
export const notWritable = (texts: readonly string[]): Appearance | undefined =>
  texts.some((text) => text.includes(REPLACEMENT)) ? NO_UTF8 : undefined;

/** The same of lines as Latin-1. */
export const notUtf8 = (lines: readonly string[]): Appearance | undefined =>
  lines.every((line) => isUtf8(Buffer.from(line.length < LONG ? line : line.replace(CUT_CHARACTER, ''), 'latin1')))
    ? undefined
    : NO_UTF8;

/** Signs that a text is not libsvm. */
const OTHER_TEXT: readonly Test[] = [
  [(lines) => lines.length === 1 && /\r[^\n]*\r/.test(lines[0]!), OLD_LINE_ENDS],
  JSON_TEXT,
  [
    all((line) => WEIGHTED.test(line)),
    {
      what: 'libsvm without labels, or with weights (label:weight)',
      hint: 'add the labels; for weights, which must be at least 0, set data.labelWeights to true (data index: --label-weights)',
    },
  ],
  LIBFFM,
  [all((line) => NAMESPACES.test(line)), VOWPAL_WABBIT],
  [
    all((line) => ID_LIST.test(line) && line.includes(':')),
    {
      what: 'multi-label libsvm (labels with commas)',
      hint: 'write one label per record: paddlet does not support multi-label data',
    },
  ],
  [
    all((line) => DECIMAL_COMMAS.test(line)),
    { what: 'libsvm with decimal commas', hint: 'write values with a point, such as 0.5' },
  ],
  [
    all((line) => NAMED.test(line)),
    {
      what: 'libsvm with names for ids',
      hint: 'ids are whole numbers from 0 to 2^64-1: number the names, or hash them',
    },
  ],
  [
    all((line) => RANKING.test(line)),
    {
      what: 'ranking data (qid:)',
      hint: 'write labels that fit model.task: paddlet does not train ranking models; keep qid: for metrics by group',
    },
  ],
  [
    all((line) => VALUELESS.test(line)),
    {
      what: 'libsvm with ids without values, or with a header line',
      hint: 'write an id without a value as id:1, and remove a header line with counts',
    },
  ],
  [
    (lines) => all((line) => RECORD.test(line) && !BINARY_LABEL.test(line))(lines) && twoLabels(lines),
    {
      what: 'libsvm with labels that the model does not accept',
      hint: 'write the labels of two classes as 1 and 0; if the labels are quantities, set model.task to regression',
    },
  ],
  [
    all((line) => RECORD.test(line) && !BINARY_LABEL.test(line)),
    {
      what: 'libsvm with labels that the model does not accept',
      hint: 'if the labels are quantities, set model.task to regression; otherwise correct the labels, or raise data.maxBadRecords',
    },
  ],
  [separatedBy('\t'), { what: 'tab-separated values (TSV)', hint: columnsHint('tsv') }],
  [separatedBy(','), { what: 'comma-separated values (CSV)', hint: columnsHint('csv') }],
  [separatedBy(';'), { what: 'values separated by semicolons (CSV)', hint: columnsHint('csv') }],
];

/**
 * Undefined when the lines (not empty, perhaps cut off) look like nothing that is known. `hasFields`: they are expected
 * to be libffm.
 */
export function appearanceOf(lines: readonly string[], hasFields = false): Appearance | undefined {
  if (lines.length === 0) return undefined;
  const packed = packedAs(Buffer.from(lines[0]!, 'latin1'));
  const others = hasFields ? OTHER_TEXT.with(OTHER_TEXT.indexOf(LIBFFM), LIBSVM) : OTHER_TEXT;
  return packed ?? [...NO_TEXT, NULS, ...others].find(([matches]) => matches(lines))?.[1];
}

/** The same, of bad lines of text of columns. */
export const otherThanRecords = (lines: readonly string[]): Appearance | undefined =>
  otherThanText(lines) ?? [NULS].find(([matches]) => matches(lines))?.[1] ?? notUtf8(lines);

/** The same, of lines that are expected to be text of columns. */
export function otherThanText(lines: readonly string[]): Appearance | undefined {
  if (lines.length === 0) return undefined;
  return packedAs(Buffer.from(lines[0]!, 'latin1')) ?? NO_TEXT.find(([matches]) => matches(lines))?.[1];
}

/** The same, of `beginning` and whole lines that are expected to be a table. */
export function otherThanTable([beginning = '', ...lines]: readonly string[]): Appearance | undefined {
  const tests: readonly Test[] = [LIBFFM, [all((line) => NAMED_SPACES.test(line)), VOWPAL_WABBIT]];
  return otherThanText([beginning]) ?? tests.find(([matches]) => matches(lines))?.[1];
}
