/** Reads one column of one row group. */
import { crc32 } from 'node:zlib';
import type { CompressionCodec } from 'hyparquet';
import * as z from 'zod';
import { LIMITS } from '../../../base/limits.ts';
import { once } from '../../../base/once.ts';
import { builderFor } from './builders.ts';
import { isKnownCodec } from './codecs.ts';
import { damaged, Fault, unsupported } from './fault.ts';
import type { Footer, ReadBytes } from './footer.ts';
import { decodeHybrid } from './hybrid.ts';
import { levelsOf, type PageLevels } from './levels.ts';
import { contentOf, type DataPage, type DictionaryPage, PageFault, pagesOf, within } from './pages.ts';
import type { Leaf } from './schema.ts';
import { spreadWords, type ValueBuilder, type Values } from './values.ts';

/**
 * Elements are rows, or the elements of their lists. Without `indexes`, element i is value i. With them, which is so
 * where the file has a dictionary, it is value `indexes[i]`: each is there once, but for those that were not in the
 * dictionary.
 */
export interface ColumnValues {
  readonly rows: number;
  readonly elements: number;
  readonly values: Values;
  readonly indexes?: Uint32Array;
  /** 1 where an element is null: its value or index says nothing. Absent where none is. */
  readonly nulls?: Uint8Array;
  /** Lists only: of each row, its first element; one more at the end. A list that is null has none. */
  readonly listOffsets?: Uint32Array;
}

const offset = z.bigint().min(0n).optional();
const chunkSchema = once(() =>
  z.looseObject({
    file_path: z.undefined(),
    crypto_metadata: z.undefined(),
    meta_data: z.looseObject({
      type: z.string(),
      path_in_schema: z.array(z.string()),
      codec: z.string(),
      num_values: z.bigint(),
      total_compressed_size: z.bigint(),
      data_page_offset: z.bigint().min(0n),
      dictionary_page_offset: offset,
    }),
  }),
);

interface Chunk {
  readonly codec: CompressionCodec;
  readonly from: number;
  readonly bytes: number;
  readonly values: number;
}

/** `group`: its number. Throws `DataInvalid`, and what `read` throws. */
export async function readColumn(footer: Footer, group: number, leaf: Leaf, read: ReadBytes): Promise<ColumnValues> {
  const place = `${footer.path}: row group ${group}, column ${leaf.name}`;
  const chunk = chunkOf(footer, group, leaf, place);
  const bytes = await read(chunk.from, chunk.bytes);
  if (bytes.length < chunk.bytes) throw damaged(place, 'the file ends within it');
  const checksum = footer.groups[group]!.checksums?.[leaf.index];
  if (checksum !== undefined && crc32(bytes) !== checksum) throw damaged(place, 'its checksum differs');
  try {
    return decodeColumn(bytes, chunk, leaf, footer.groups[group]!.rows);
  } catch (error) {
    if (error instanceof PageFault) throw damaged(`${place}, page at byte ${chunk.from + error.at}`, error.message);
    if (error instanceof Fault) throw damaged(place, error.message);
    throw error;
  }
}

function chunkOf({ bytes, groups }: Footer, group: number, leaf: Leaf, place: string): Chunk {
  const { rows, chunks } = groups[group]!;
  const given = chunks[leaf.index]!;
  if (given.crypto_metadata !== undefined) throw unsupported(place, 'it is encrypted');
  if (given.file_path !== undefined) throw unsupported(place, 'it is in another file');
  const { data, error } = chunkSchema().safeParse(given);
  if (data === undefined) throw damaged(place, `${error.issues[0]!.path.join('.')}: ${error.issues[0]!.message}`);
  const { codec, num_values, total_compressed_size, data_page_offset, dictionary_page_offset, type, path_in_schema } =
    data.meta_data;
  if (type !== leaf.physical || path_in_schema.join('\0') !== leaf.path.join('\0')) {
    throw damaged(place, `${path_in_schema.join('.')} of type ${type} is in its place`);
  }
  if (!isKnownCodec(codec)) throw unsupported(place, `its compression ${codec} cannot be read`);
  const mostValues = BigInt(leaf.element === undefined ? rows : LIMITS.parquetChunkValues);
  if (num_values < BigInt(rows) || num_values > mostValues) {
    throw damaged(place, `it cannot have ${num_values} values in ${rows} rows`);
  }
  if (total_compressed_size < 0n || total_compressed_size > BigInt(LIMITS.parquetChunkBytes)) {
    throw unsupported(place, `it has ${total_compressed_size} bytes, not up to ${LIMITS.parquetChunkBytes}`);
  }
  // Some writers say 0 where there is no dictionary.
  const isFirst =
    dictionary_page_offset !== undefined && dictionary_page_offset > 0n && dictionary_page_offset < data_page_offset;
  const from = isFirst ? dictionary_page_offset : data_page_offset;
  if (from + total_compressed_size > BigInt(bytes)) throw damaged(place, 'it ends behind the end of the file');
  return { codec, from: Number(from), bytes: Number(total_compressed_size), values: Number(num_values) };
}

function decodeColumn(bytes: Uint8Array, chunk: Chunk, leaf: Leaf, rows: number): ColumnValues {
  const { dictionary, data } = pagesOf(bytes, chunk.values);
  const column = new ColumnBuilder(chunk, leaf, rows, data, dictionary);
  for (const page of data) within(page.at, () => column.add(page));
  return column.finish();
}

const isByIndex = ({ encoding }: DataPage): boolean => encoding === 'RLE_DICTIONARY' || encoding === 'PLAIN_DICTIONARY';

class ColumnBuilder {
  readonly #codec: CompressionCodec;
  readonly #leaf: Leaf;
  readonly #rows: number;
  readonly #values: ValueBuilder;
  readonly #indexes: Uint32Array | undefined;
  readonly #dictionaryValues: number;
  readonly #listOffsets: Uint32Array | undefined;
  readonly #capacity: number;
  #nulls: Uint8Array | undefined;
  #elements = 0;
  /** Rows that have started. */
  #row = 0;

  constructor(
    chunk: Chunk,
    leaf: Leaf,
    rows: number,
    data: readonly DataPage[],
    dictionary: DictionaryPage | undefined,
  ) {
    this.#codec = chunk.codec;
    this.#leaf = leaf;
    this.#rows = rows;
    this.#capacity = chunk.values;
    const direct = data.filter((page) => !isByIndex(page));
    const bytes = direct.reduce((sum, { size }) => sum + size, dictionary?.size ?? 0);
    const hasDictionary = dictionary !== undefined && data.some(isByIndex);
    // A boolean takes a bit at least, all else more.
    if (hasDictionary && dictionary.values > 8 * dictionary.size) {
      throw new PageFault(dictionary.at, `it cannot have ${dictionary.values} values in ${dictionary.size} bytes`);
    }
    const directValues = direct.reduce((sum, { values }) => sum + values, 0);
    this.#values = builderFor(leaf, hasDictionary ? dictionary.values + directValues : chunk.values, bytes);
    if (hasDictionary) {
      within(dictionary.at, () => this.#values.append('PLAIN', contentOf(dictionary, chunk.codec), dictionary.values));
      this.#indexes = new Uint32Array(chunk.values);
    }
    this.#dictionaryValues = hasDictionary ? dictionary.values : 0;
    this.#listOffsets = leaf.element === undefined ? undefined : new Uint32Array(rows + 1);
  }

  /** Throws a `Fault`. */
  add(page: DataPage): void {
    const levels = levelsOf(page, contentOf(page, this.#codec), this.#leaf);
    if (this.#listOffsets !== undefined) this.#startRows(levels, this.#listOffsets);
    const { elements, values, present, content } = levels;
    // Values first, one after the other: then each goes to its place.
    if (isByIndex(page)) this.#addIndexes(content, values);
    else if (values > 0) {
      const first = this.#values.count;
      this.#values.append(page.encoding, content, values);
      for (let at = 0; this.#indexes !== undefined && at < values; at++)
        this.#indexes[this.#elements + at] = first + at;
    }
    if (present !== undefined && values < elements) this.#spread(present, values);
    this.#elements += elements;
  }

  finish(): ColumnValues {
    const [elements, listOffsets] = [this.#elements, this.#listOffsets];
    if (listOffsets === undefined) this.#row = elements;
    if (this.#row !== this.#rows) throw new Fault(`it has ${this.#row} rows, its row group ${this.#rows}`);
    if (listOffsets !== undefined) listOffsets[this.#rows] = elements;
    return {
      rows: this.#rows,
      elements,
      values: this.#values.finish(),
      ...(this.#indexes === undefined ? {} : { indexes: this.#indexes.subarray(0, elements) }),
      ...(this.#nulls === undefined ? {} : { nulls: this.#nulls.subarray(0, elements) }),
      ...(listOffsets === undefined ? {} : { listOffsets }),
    };
  }

  #addIndexes(content: Uint8Array, values: number): void {
    const indexes = this.#indexes;
    if (indexes === undefined) throw new Fault('it has indexes of a dictionary, which the column lacks');
    if (values === 0) return;
    const [first, end, known] = [this.#elements, this.#elements + values, this.#dictionaryValues];
    const width = content[0];
    if (width === undefined) throw new Fault('it ends before its indexes');
    // Some writers write no run for indexes of 0 bits.
    if (width > 0) decodeHybrid(content.subarray(1), width, indexes, first, values);
    let largest = 0;
    for (let at = first; at < end; at++) if (indexes[at]! > largest) largest = indexes[at]!;
    if (largest >= known) throw new Fault(`it has the index ${largest} of a dictionary of ${known} values`);
  }

  #spread(present: Uint8Array, values: number): void {
    this.#nulls ??= new Uint8Array(this.#capacity);
    for (let at = 0; at < present.length; at++) this.#nulls[this.#elements + at] = present[at] === 0 ? 1 : 0;
    if (this.#indexes === undefined) this.#values.spread(present, values);
    else spreadWords(this.#indexes, 1, this.#elements, values, present);
  }

  #startRows({ repetitions, definitions, count }: PageLevels, offsets: Uint32Array): void {
    let element = this.#elements;
    let row = this.#row;
    for (let at = 0; at < count; at++) {
      if (repetitions![at] === 0) {
        if (row >= this.#rows) throw new Fault(`it begins row ${row} of ${this.#rows}`);
        offsets[row++] = element;
      } else if (row === 0) throw new Fault('it begins within a row');
      if (definitions![at]! >= this.#leaf.element!) element += 1;
      else if (repetitions![at] !== 0) throw new Fault('an empty list has more than one element');
    }
    this.#row = row;
  }
}
