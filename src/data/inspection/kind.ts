/** What kind of data a file is, by its first bytes. */
import { PaddletError } from '../../base/errors.ts';
import { otherThanTable } from '../appearance.ts';
import { BOM } from '../ascii.ts';
import type { Head } from '../content.ts';

export type Kind = 'table' | 'libsvm' | 'libffm' | 'idx';

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
const WEIGHTED = new RegExp(`^\\s*${NUMBER}:`);

/** Throws `DataInvalid`, saying what the file is, when paddlet cannot read it as it is. */
export function kindOf(path: string, { bytes, isWhole }: Head): Kind {
  const lines = firstLines(bytes);
  if (IDX.every((byte, at) => bytes[at] === byte)) return 'idx';
  if (lines.length === 0) {
    throw new PaddletError('DataInvalid', isWhole ? `${path} has no records` : `${path}: the first line is too long`, {
      hint: isWhole ? 'name a file with data' : 'is it text of lines?',
    });
  }
  for (const kind of ['libsvm', 'libffm'] as const) {
    const sparse = lines.filter((line) => SPARSE[kind].test(line));
    const featured = sparse.filter((line) => FEATURE.test(line));
    if (sparse.length >= MOST_LINES * lines.length && 2 * featured.length > lines.length) return kind;
  }
  const other = otherThanTable([Buffer.from(bytes.subarray(0, SHOWN_BYTES)).toString('latin1'), ...lines]);
  if (other === undefined) return 'table';
  throw new PaddletError('DataInvalid', `${path} is ${other.what}`, { hint: other.hint });
}

/** Whether labels have a weight. */
export const hasWeights = (kind: 'libsvm' | 'libffm', bytes: Uint8Array): boolean =>
  firstLines(bytes).some((line) => SPARSE[kind].test(line) && WEIGHTED.test(line));

/** Those that are neither empty nor a comment, as Latin-1. */
function firstLines(bytes: Uint8Array): string[] {
  const start = BOM.every((byte, at) => bytes[at] === byte) ? BOM.length : 0;
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, bytes.length - start)
    .toString('latin1')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .slice(0, LINES);
}
