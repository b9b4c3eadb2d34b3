/** Text of lines, block by block. */
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { isBlank, NEWLINE } from '../ascii.ts';

/** The same bytes as blocks of whole lines; the last one may lack its end. Throws `DataInvalid`: a line is too long. */
export async function* wholeLines(path: string, blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array = new Uint8Array(0);
  for await (const block of blocks) {
    const bytes = held.length === 0 ? block : Buffer.concat([held, block]);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    held = bytes.slice(end);
    if (held.length > LIMITS.recordBytes) {
      throw new PaddletError('DataInvalid', `${path}: a line does not end within ${LIMITS.recordBytes} bytes`, {
        hint: 'check that the file is text with one record per line',
      });
    }
    yield bytes.subarray(0, end);
  }
  yield held;
}

/** Those of some text that have more than blanks, and their numbers. */
export function* linesIn(bytes: Uint8Array, firstLine: number): Generator<{ bytes: Uint8Array; line: number }> {
  let line = firstLine;
  for (let start = 0; start < bytes.length; line++) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    let at = start;
    while (at < end && isBlank(bytes[at]!)) at++;
    if (at < end) yield { bytes: bytes.subarray(start, end), line };
    start = end + 1;
  }
}

export const countLines = (bytes: Uint8Array): number =>
  bytes.reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 0);
