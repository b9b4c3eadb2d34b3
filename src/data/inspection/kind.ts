/** What kind of data a file is, by its first bytes. */
import { PaddletError } from '../../base/errors.ts';
import { otherThanTable, refuseOldLineEnds } from '../appearance.ts';
import { markBytes } from '../ascii.ts';
import { isParquet } from '../bytes/packed.ts';
import { MAGIC as COLUMNS } from '../formats/columns/header.ts';
import type { Beginning } from './beginning.ts';

export type Kind = 'fields' | 'jsonl' | 'parquet' | 'libsvm' | 'libffm' | 'idx';

const LINES = 64;
/** Others may be bad. */
const MOST_LINES = 0.9;
const SHOWN_BYTES = 4096;
const IDX = [0, 0, 8];
const NUMBER = '[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?';
const SPARSE = {
  libsvm: new RegExp(`^\\s*${NUMBER}(?::${NUMBER})?(?:\\s+(?:\\d+|qid):${NUMBER})*\\s*(?:#.*)?$`),
  libffm: new RegExp(`^\\s*${NUMBER}(?::${NUMBER})?(?:\\s+(?:\\d+:\\d+|qid):${NUMBER})*\\s*(?:#.*)?$`),
} as const;
const FEATURE = /\s\d+:/;
const BRACKET = /^\s*[{[]/;
const OPEN = /^\s*(?:[{[]\s*|\[\s*\{.*|\{\s*".*)$/;
const WEIGHTED = new RegExp(`^\\s*${NUMBER}:`);

/** Throws `DataInvalid`, saying what the file is, when paddlet cannot read it as it is. */
export function kindOf(path: string, { bytes, isWhole, magic }: Beginning): Kind {
  if (isParquet(magic)) return 'parquet';
  if (COLUMNS.every((byte, at) => magic[at] === byte)) {
    throw new PaddletError('DataInvalid', `${path} is a columns file, which \`paddlet data convert\` wrote`, {
      hint: 'inspect the original file (the input of `paddlet data convert`); to train on this file, set data.format: columns',
    });
  }
  if (IDX.every((byte, at) => magic[at] === byte)) return 'idx';
  refuseOldLineEnds(path, bytes);
  const lines = firstLines(bytes);
  if (lines.length === 0) {
    throw new PaddletError('DataInvalid', isWhole ? `${path} has no records` : `${path}: the first line is too long`, {
      hint: isWhole ? 'choose a file that contains records' : 'check that the file is text with line breaks',
    });
  }
  for (const kind of ['libsvm', 'libffm'] as const) {
    const sparse = lines.filter((line) => SPARSE[kind].test(line));
    const featured = sparse.filter((line) => FEATURE.test(line));
    if (sparse.length >= MOST_LINES * lines.length && 2 * featured.length > lines.length) return kind;
  }
  if (isJson(lines)) return 'jsonl';
  const other = otherThanTable([Buffer.from(bytes.subarray(0, SHOWN_BYTES)).toString('latin1'), ...lines]);
  if (other === undefined) return 'fields';
  throw new PaddletError('DataInvalid', `${path} is ${other.what}`, { hint: other.hint });
}

/** Also of one array, or of records over several lines, of which `headOf` of the format says what they are. */
const isJson = (lines: readonly string[]): boolean =>
  lines.filter((line) => BRACKET.test(line)).length >= MOST_LINES * lines.length || OPEN.test(lines[0]!);

/** Whether labels have a weight. */
export const hasWeights = (kind: 'libsvm' | 'libffm', bytes: Uint8Array): boolean =>
  firstLines(bytes).some((line) => SPARSE[kind].test(line) && WEIGHTED.test(line));

/** Those that are neither empty nor a comment, as Latin-1. */
function firstLines(bytes: Uint8Array): string[] {
  const start = markBytes(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, bytes.length - start)
    .toString('latin1')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .slice(0, LINES);
}
