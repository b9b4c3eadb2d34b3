/** The chunk index of a RecordIO file, and what it is for: records at any place, without reading those before. */
import { PaddletError } from '../../../../base/errors.ts';
import type { DiskFile } from '../../../../base/seams.ts';
import { FileBlocks } from '../../file-blocks.ts';
import { ForwardBytes } from '../../forward.ts';
import { type BodyRange, cutOff, decodeBody, faultOf } from './body.ts';
import { beginsChunk, COMPRESSORS, decodeHeader, HEADER_BYTES } from './header.ts';
import { type ScanOptions, scanChunks } from './scan.ts';
import { corruptChunk } from './unpack.ts';

export interface ListedChunk {
  /** Number of the chunk, counted from 1. */
  readonly chunk: number;
  readonly offset: number;
  /** Bytes in the file up to the next chunk. */
  readonly bytes: number;
  /** Read from the header, as is the compressor: undefined if the header is damaged. */
  readonly records?: number;
  readonly compressor?: string;
  /** What is wrong with it. */
  readonly fault?: string;
}

/** All of them, each checked. Throws `DataInvalid` when it is no such file. */
export async function listChunks(file: DiskFile, path: string, turn?: ScanOptions['turn']): Promise<ListedChunk[]> {
  await refuseOther(file, path);
  const found: Omit<ListedChunk, 'bytes'>[] = [];
  for await (const { number: chunk, offset, header, fault } of scanChunks(
    new ForwardBytes(new FileBlocks(file).from(0)),
    { turn },
  )) {
    const { records, compressor: code = 0 } = header ?? {};
    const said = records === undefined ? {} : { records, compressor: COMPRESSORS[code] ?? `${code}` };
    found.push({ chunk, offset, ...said, ...(fault === undefined ? {} : { fault }) });
  }
  const size = await file.size();
  return found.map((one, at) => ({ ...one, bytes: (found[at + 1]?.offset ?? size) - one.offset }));
}

export interface ReadRange extends BodyRange {
  /** The number of its first record in the file, from 1 on. */
  readonly first: number;
}

/** `count` records from the 0-based one `from` on: of other chunks only the headers are read. Throws `DataInvalid`. */
export async function* readRange(
  file: DiskFile,
  path: string,
  { from, count }: { readonly from: number; readonly count: number },
): AsyncGenerator<ReadRange> {
  await refuseOther(file, path);
  const size = await file.size();
  let first = 0;
  let offset = 0;
  for (let number = 1; offset < size && first < from + count; number++) {
    const header = decodeHeader(await bytesAt(file, offset, HEADER_BYTES));
    if (typeof header === 'string') throw corruptChunk(path, { number, offset, fault: header });
    const left = size - offset - HEADER_BYTES;
    if (header.bytes > left) throw corruptChunk(path, { number, offset, fault: cutOff(header.bytes, left) });
    if (first + header.records > from) {
      const packed = await bytesAt(file, offset + HEADER_BYTES, header.bytes);
      const body = faultOf(header, packed) ?? decodeBody(header, packed);
      if (typeof body === 'string') throw corruptChunk(path, { number, offset, fault: body });
      const start = Math.max(0, from - first);
      yield { body, from: start, to: from + count - first, first: first + start + 1 };
    }
    first += header.records;
    offset += HEADER_BYTES + header.bytes;
  }
}

async function refuseOther(file: DiskFile, path: string): Promise<void> {
  const first = await bytesAt(file, 0, HEADER_BYTES);
  if (first.length === 0 || beginsChunk(first)) return;
  throw new PaddletError('DataInvalid', `${path} is not a RecordIO file`, {
    hint: 'decompress the file if it is compressed; make a RecordIO file with `paddlet data recordio pack`',
  });
}

async function bytesAt(file: DiskFile, offset: number, count: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(count);
  return bytes.subarray(0, await file.read(bytes, offset));
}
