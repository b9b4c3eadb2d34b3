/** The pages of a column chunk: headers are checked against the chunk before anything is decompressed. */
import { crc32 } from 'node:zlib';
import type { CompressionCodec, Encoding, PageHeader } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { LIMITS } from '../../../base/limits.ts';
import { decompressed } from './codecs.ts';
import { Fault } from './fault.ts';
import { endOfStruct } from './thrift.ts';

interface PageBase {
  /** Offset of its header in the chunk. */
  readonly at: number;
  /** As in the file, compressed, and with the levels. */
  readonly body: Uint8Array;
  /** Bytes of the decompressed body. */
  readonly size: number;
  readonly crc: number | undefined;
  readonly values: number;
  readonly encoding: Encoding;
}

export interface DictionaryPage extends PageBase {
  readonly kind: 'dictionary';
}

/** With lengths before its levels, and compressed as a whole. */
export interface DataPageV1 extends PageBase {
  readonly kind: 'v1';
}

/** A page whose levels are not compressed. */
export interface DataPageV2 extends PageBase {
  readonly kind: 'v2';
  readonly repetitionBytes: number;
  readonly definitionBytes: number;
  readonly isCompressed: boolean;
}

export type DataPage = DataPageV1 | DataPageV2;
export type Page = DictionaryPage | DataPage;

/** Knows at which byte of a chunk something is wrong. */
export class PageFault extends Fault {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/** The pages of a chunk that has `values` values. Throws a `PageFault`. */
export function pagesOf(
  chunk: Uint8Array,
  values: number,
): { readonly dictionary?: DictionaryPage; readonly data: DataPage[] } {
  let dictionary: DictionaryPage | undefined;
  const data: DataPage[] = [];
  let [at, read, size] = [0, 0, 0];
  while (read < values) {
    const { page, end } = within(at, () => pageAt(chunk, at));
    if (page !== undefined) {
      size += page.size;
      if (size > LIMITS.parquetChunkBytes) {
        throw new PageFault(at, `its column has more than ${LIMITS.parquetChunkBytes} bytes up to this page`);
      }
      if (page.kind === 'dictionary') {
        if (dictionary !== undefined || data.length > 0) {
          throw new PageFault(at, 'its dictionary is not the first page');
        }
        dictionary = page;
      } else {
        data.push(page);
        read += page.values;
        if (read > values) throw new PageFault(at, `up to it there are ${read} values, and the column has ${values}`);
      }
    }
    at = end;
  }
  return { ...(dictionary === undefined ? {} : { dictionary }), data };
}

/** A fault that `work` finds is of the page there. */
export function within<T>(at: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Fault && !(error instanceof PageFault)) throw new PageFault(at, error.message);
    throw error;
  }
}

/** Without a page where it is of a kind that says nothing of values. */
function pageAt(chunk: Uint8Array, at: number): { readonly page: Page | undefined; readonly end: number } {
  if (at >= chunk.length) throw new Fault('the column ends before this page, and has too few values');
  const start = endOfStruct(chunk, at);
  const header = decodedHeader(chunk.subarray(at, start));
  const stored = counted(header.compressed_page_size, 'bytes');
  const size = counted(header.uncompressed_page_size, 'bytes');
  const end = start + stored;
  if (end > chunk.length) throw new Fault(`it has ${stored} bytes, more than are left of the column`);
  const base = { at, body: chunk.subarray(start, end), size, crc: header.crc };
  return { page: typedPage(header, base), end };
}

function decodedHeader(bytes: Uint8Array): PageHeader {
  try {
    return parquetHeader({ view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset: 0 });
  } catch {
    throw new Fault('its header has not what the header of a page has');
  }
}

function typedPage(header: PageHeader, base: Pick<PageBase, 'at' | 'body' | 'size' | 'crc'>): Page | undefined {
  const { data_page_header: v1, data_page_header_v2: v2, dictionary_page_header: dictionary } = header;
  if (header.type === 'INDEX_PAGE') return undefined;
  if (header.type === 'DICTIONARY_PAGE' && dictionary !== undefined) {
    return {
      ...base,
      kind: 'dictionary',
      values: counted(dictionary.num_values, 'values'),
      encoding: dictionary.encoding,
    };
  }
  if (header.type === 'DATA_PAGE' && v1 !== undefined) {
    if (v1.definition_level_encoding === 'BIT_PACKED' || v1.repetition_level_encoding === 'BIT_PACKED') {
      throw new Fault('its levels have the old encoding BIT_PACKED, which cannot be read');
    }
    return { ...base, kind: 'v1', values: counted(v1.num_values, 'values'), encoding: v1.encoding };
  }
  if (header.type === 'DATA_PAGE_V2' && v2 !== undefined) {
    const repetitionBytes = counted(v2.repetition_levels_byte_length, 'bytes');
    const definitionBytes = counted(v2.definition_levels_byte_length, 'bytes');
    if (repetitionBytes + definitionBytes > Math.min(base.size, base.body.length)) {
      throw new Fault('its levels are longer than it is');
    }
    const levels = { repetitionBytes, definitionBytes, isCompressed: v2.is_compressed !== false };
    return { ...base, ...levels, kind: 'v2', values: counted(v2.num_values, 'values'), encoding: v2.encoding };
  }
  throw new Fault('it is of an unknown kind');
}

function counted(count: unknown, what: string): number {
  if (typeof count !== 'number' || !Number.isInteger(count)) {
    throw new Fault(`its header does not say how many ${what}`);
  }
  if (count < 0) throw new Fault(`it cannot have ${count} ${what}`);
  return count;
}

/** What of the page is compressed, decompressed. Throws a `Fault`. */
export function contentOf(page: Page, codec: CompressionCodec): Uint8Array {
  if (page.crc !== undefined && crc32(page.body) !== page.crc >>> 0) throw new Fault('its check sum differs');
  if (page.kind !== 'v2') return decompressed(codec, page.body, page.size);
  const levels = page.repetitionBytes + page.definitionBytes;
  return decompressed(page.isCompressed ? codec : 'UNCOMPRESSED', page.body.subarray(levels), page.size - levels);
}
