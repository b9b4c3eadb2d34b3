/** What is scored: a file, or stdin. */
import { resolve } from 'node:path';
import { PaddletError } from '../../base/errors.ts';
import { notLocal } from '../../base/local-path.ts';
import type { Disk, FileFacts } from '../../base/seams.ts';
import type { ForwardBytes } from '../../data/bytes/forward.ts';
import { openForward } from '../../data/bytes/packings/unpack.ts';
import { FORWARD_HEAD_BYTES } from '../../data/formats/format.ts';
import { type DataFormat, formatOf } from '../../data/formats/registry.ts';
import { inputBlocks } from '../../host/inputs.ts';
import type { PartMakerOptions } from './part-maker.ts';

/** The argument that means stdin or stdout. */
export const STANDARD = '-';

export interface InputFile {
  readonly path: string;
  readonly facts: FileFacts;
}

/** Undefined for stdin. Throws `DataMissing`, `DataInvalid`. */
export async function findInput(disk: Pick<Disk, 'inspect'>, data: string): Promise<InputFile | undefined> {
  if (data === STANDARD) return undefined;
  const facts = await disk.inspect(resolve(data));
  if (facts === undefined) {
    const isPattern = /[*?]/.test(data);
    const hint =
      notLocal(data) ?? (isPattern ? 'score files one by one' : 'relative paths start at the current folder');
    throw new PaddletError('DataMissing', `no such data file: ${data}`, { hint });
  }
  if (facts.kind === 'file') return { path: resolve(data), facts };
  if (facts.kind === 'folder') {
    throw new PaddletError('DataInvalid', `${data} is a folder`, { hint: 'score its files one by one' });
  }
  // A read of a named pipe cannot be interrupted.
  throw new PaddletError('DataInvalid', `${data} is not a regular file`, {
    hint: 'pass a pipe or a device as stdin: --data - <FILE',
  });
}

export interface OpenInput extends Pick<PartMakerOptions, 'file' | 'source'> {
  /** What parts are cut of; undefined where they are those of a file. */
  readonly stream: ForwardBytes | undefined;
}

/** Throws `Usage` for a pipe of a format whose files are read at any place. */
export async function openInput(
  data: string,
  found: InputFile | undefined,
  format: DataFormat,
  signal: AbortSignal,
): Promise<OpenInput> {
  if (formatOf(format).openRows !== undefined) {
    if (found !== undefined) return { file: data, source: { kind: 'file', ...found }, stream: undefined };
    throw new PaddletError('Usage', `cannot read ${format} from stdin: its metadata is at the end`, {
      hint: 'save the data as a file, and name the file with --data',
    });
  }
  const file = found === undefined ? 'stdin' : data;
  const stream = await openForward(file, inputBlocks(found?.path, signal));
  const bytes = await stream.peek(FORWARD_HEAD_BYTES);
  const head = { bytes, isWhole: bytes.length < FORWARD_HEAD_BYTES };
  return { file, source: { kind: 'stream', head }, stream };
}
