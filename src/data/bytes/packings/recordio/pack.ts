/** Writes a RecordIO file of a text: each line is a record. */
import { PaddletError } from '../../../../base/errors.ts';
import { LIMITS } from '../../../../base/limits.ts';
import { NEWLINE } from '../../../ascii.ts';
import type { Append } from '../../../whole-file.ts';
import type { ForwardBytes } from '../../forward.ts';
import { lineBreaks, ownMemory, PLAIN_LINES, Slices } from '../../slices.ts';
import { encodeChunk } from './body.ts';
import { type Compressor, LENGTH_BYTES } from './header.ts';

export interface PackOptions {
  /** Path of the text, for messages. */
  readonly path: string;
  readonly compressor: Compressor;
  /**
   * A chunk ends when its records and their lengths have `chunkBytes` bytes before compression, or at `chunkRecords`
   * records.
   */
  readonly chunkBytes: number;
  readonly chunkRecords: number;
}

export interface PackedText {
  readonly records: number;
  readonly chunks: number;
  readonly bytes: number;
}

/** Throws `DataInvalid`, and what reading and `append` throw. */
export async function packLines(text: ForwardBytes, options: PackOptions, append: Append): Promise<PackedText> {
  const { compressor, chunkBytes, chunkRecords } = options;
  const packed = { records: 0, chunks: 0, bytes: 0 };
  let records: Uint8Array[] = [];
  let held = 0;
  const endChunk = async (): Promise<void> => {
    if (records.length === 0) return;
    const chunk = encodeChunk(records, compressor);
    await append(chunk);
    packed.records += records.length;
    packed.chunks += 1;
    packed.bytes += chunk.length;
    records = [];
    held = 0;
  };
  for await (const line of linesIn(text, options.path)) {
    records.push(line);
    held += LENGTH_BYTES + line.length;
    if (held >= chunkBytes || records.length >= chunkRecords) await endChunk();
  }
  await endChunk();
  return packed;
}

/** The lines without their line breaks. */
async function* linesIn(text: ForwardBytes, path: string): AsyncGenerator<Uint8Array> {
  const onLong = (): void => {
    throw new PaddletError('DataInvalid', `${path} has a line of more than ${LIMITS.recordBytes} bytes`, {
      hint: 'check that the file is text: no format has such long lines',
    });
  };
  const slices = new Slices(text, { offset: 0, line: 1, rules: PLAIN_LINES, onLong, room: ownMemory });
  for (let slice = await slices.next(); slice !== undefined; slice = await slices.next()) {
    const { bytes } = slice;
    slices.passed(bytes.length, lineBreaks(bytes));
    for (let start = 0; start < bytes.length; ) {
      const newline = bytes.indexOf(NEWLINE, start);
      const end = newline < 0 ? bytes.length : newline;
      yield bytes.subarray(start, end);
      start = end + 1;
    }
  }
}
