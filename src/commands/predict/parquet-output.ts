/** Scores as a Parquet file: the columns of CSV, with null where a line has nothing. */
import { crc32 } from 'node:zlib';
import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { assert } from '../../base/assert.ts';
import { checksumEntry, sealFooter } from '../../data/formats/parquet/checksums.ts';
import type { ScoredGroup } from '../../roles/evaluator/score-groups.ts';
import { columnNames, utf8 } from './lines.ts';
import type { Output, OutputNames } from './output.ts';

/** Records of a row group, unless they have many scores, or long texts. */
const GROUP_ROWS = 100_000;
/** Maximum number of values of a row group, which is encoded at once. */
const GROUP_VALUES = 1 << 20;
/** A row group ends when its texts have this number of characters. */
const GROUP_CHARACTERS = 1 << 26;

/** The length of the footer, and the magic bytes. */
const TAIL_BYTES = 8;

/** Row groups are cut by what the records are, not by how they come: the file is the same for any number of threads. */
export function parquetOutput(names: OutputNames, mostRows = GROUP_ROWS): Output {
  const bytes = new ByteWriter();
  const all = columnNames(names);
  const groupRows = Math.max(1, Math.min(mostRows, Math.floor(GROUP_VALUES / all.length)));
  const firstScore = names.kept.length;
  const endScore = firstScore + names.scores.length;
  const isScore = (column: number): boolean => column >= firstScore && column < endScore;
  const columns = all.map((name, at) => (isScore(at) ? floats(name) : texts(name)));
  const schema = [{ name: 'predictions', num_children: columns.length }, ...columns];
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: 'paddlet' });
  const taken = (): Uint8Array => {
    const made = bytes.getBytes().slice();
    // The offset in the file continues.
    bytes.index = 0;
    return made;
  };
  // A dictionary takes −0 and 0 for the same.
  const dataOf = (name: string, at: number, data: Values): ColumnSource =>
    isScore(at) ? { name, data, encoding: 'PLAIN' } : { name, data };
  let group = new OpenGroup(all.length);
  const checksums: number[] = [];
  const endGroup = (): void => {
    const { values, rows } = group;
    if (rows > 0) {
      writer.write({ columnData: all.map((name, at) => dataOf(name, at, values[at]!)), rowGroupSize: rows });
      const taken = bytes.offset - bytes.index;
      for (const { file_offset, meta_data } of writer.row_groups.at(-1)!.columns) {
        const start = Number(file_offset) - taken;
        checksums.push(crc32(bytes.getBytes().subarray(start, start + Number(meta_data!.total_compressed_size))));
      }
    }
    group = new OpenGroup(all.length);
  };
  return {
    make: (groups) => [...groups],
    head: taken(),
    bytesOf(made) {
      assert(!(made instanceof Uint8Array), 'scores are made');
      for (const scored of made) {
        for (let record = 0; record < scored.records; record++) {
          group.add(scored, record);
          if (group.rows === groupRows || group.characters >= GROUP_CHARACTERS) endGroup();
        }
      }
      return taken();
    },
    end() {
      endGroup();
      const entry = checksumEntry(checksums);
      writer.kvMetadata = [entry];
      writer.finish();
      const made = Buffer.from(taken());
      const end = made.length - TAIL_BYTES;
      sealFooter(made.subarray(end - made.readUInt32LE(end), end), entry.value);
      return made;
    },
  };
}

const floats = (name: string): SchemaElement => ({ name, type: 'FLOAT', repetition_type: 'OPTIONAL' });

const texts = (name: string): SchemaElement => ({
  name,
  type: 'BYTE_ARRAY',
  converted_type: 'UTF8',
  logical_type: { type: 'STRING' },
  repetition_type: 'OPTIONAL',
});

type Values = (string | number | null)[];

class OpenGroup {
  /** The values of each column. */
  readonly values: Values[];
  rows = 0;
  characters = 0;

  constructor(columns: number) {
    this.values = Array.from({ length: columns }, () => []);
  }

  add({ kept, errors, scores, outputs }: ScoredGroup, record: number): void {
    let column = 0;
    const put = (value: string | number | null): void => void this.values[column++]!.push(value);
    for (const text of kept?.[record] ?? []) {
      this.characters += text.length;
      put(text === '' ? null : utf8(text));
    }
    const error = errors.get(record);
    for (let output = 0; output < outputs; output++) {
      put(error === undefined ? scores[record * outputs + output]! : null);
    }
    if (column < this.values.length) {
      this.characters += error?.length ?? 0;
      put(error ?? null);
    }
    this.rows += 1;
  }
}
