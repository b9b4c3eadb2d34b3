/** The end of a Parquet file, which says what is in it (https://parquet.apache.org/docs/file-format/). */
import { type FileMetaData, parquetMetadata } from 'hyparquet';
import * as z from 'zod';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { once } from '../../../base/once.ts';
import { nearName } from '../../near-name.ts';
import { checkedChunks } from './checksums.ts';
import { damaged, Fault, unsupported } from './fault.ts';
import { type Leaf, leavesOf } from './schema.ts';
import { endOfStruct } from './thrift.ts';

/** Shorter only where the file ends. */
export type ReadBytes = (offset: number, count: number) => Promise<Uint8Array>;

export interface RowGroup {
  readonly rows: number;
  /** Position of its first row in the file. */
  readonly firstRow: number;
  /** Checked when one is read: a file may have very many. */
  readonly chunks: FileMetaData['row_groups'][number]['columns'];
  /** CRC-32 of each chunk, if the file has checksums of paddlet. */
  readonly checksums?: readonly number[];
}

export interface Footer {
  readonly path: string;
  readonly bytes: number;
  readonly rows: number;
  readonly groups: readonly RowGroup[];
  readonly leaves: readonly Leaf[];
}

const MAGIC = 'PAR1';
const ENCRYPTED = 'PARE';
/** The length of the metadata, and the magic. */
const TAIL_BYTES = 8;

const whole = z.number().int();
const logical = once(() =>
  z.looseObject({
    type: z.string().optional(),
    unit: z.enum(['MILLIS', 'MICROS', 'NANOS']).optional(),
    scale: whole.optional(),
    precision: whole.optional(),
  }),
);
const schema = once(() =>
  z.array(
    z.looseObject({
      name: z.string(),
      type: z.string().optional(),
      type_length: whole.optional(),
      repetition_type: z.string().optional(),
      num_children: whole.nonnegative().optional(),
      converted_type: z.string().optional(),
      scale: whole.optional(),
      precision: whole.optional(),
      logical_type: logical().optional(),
    }),
  ),
);
const metadata = once(() =>
  z.looseObject({
    num_rows: z.bigint(),
    schema: schema(),
    row_groups: z.array(z.looseObject({ num_rows: z.bigint(), columns: z.array(z.unknown()) })),
    key_value_metadata: z.array(z.looseObject({ key: z.string(), value: z.string().optional() })).optional(),
  }),
);

/** `bytes`: of the file. Throws `DataInvalid`, and what `read` throws. */
export async function readFooter(path: string, bytes: number, read: ReadBytes): Promise<Footer> {
  if (bytes === 0) throw noParquet(path, 'it is empty');
  const ends = TAIL_BYTES + MAGIC.length;
  const head = textOf(await read(0, MAGIC.length));
  if (head === ENCRYPTED) throw encrypted(path);
  if (head !== MAGIC) throw noParquet(path, `it does not begin with ${MAGIC}`);
  if (bytes < ends) throw damaged(path, `its ${bytes} bytes are too few for a Parquet file`);
  const tail = Buffer.from(await read(bytes - TAIL_BYTES, TAIL_BYTES));
  const magic = tail.toString('latin1', 4);
  if (magic === ENCRYPTED) throw encrypted(path);
  if (magic !== MAGIC) throw damaged(path, `it does not end with ${MAGIC}: its footer is missing`);
  const length = tail.readUInt32LE(0);
  if (length > bytes - ends) throw damaged(path, `its footer cannot have ${length} bytes, as it has ${bytes} itself`);
  if (length > LIMITS.parquetFooterBytes) {
    throw unsupported(path, `its footer has ${length} bytes, more than ${LIMITS.parquetFooterBytes}`);
  }
  const footer = await read(bytes - TAIL_BYTES - length, length + TAIL_BYTES);
  try {
    return decoded(path, bytes, footer);
  } catch (error) {
    if (error instanceof Fault) throw damaged(path, `its footer cannot be read: ${error.message}`);
    throw error;
  }
}

function decoded(path: string, bytes: number, footer: Uint8Array): Footer {
  const struct = footer.subarray(0, -TAIL_BYTES);
  endOfStruct(struct, 0);
  let parsed: FileMetaData;
  try {
    parsed = parquetMetadata(footer, { geoparquet: false, parsers: { stringFromBytes: (text) => text } });
  } catch {
    // Whatever hyparquet met where it expected something else.
    throw new Fault('it has not what the metadata of a Parquet file has');
  }
  const fault = metadata().safeParse(parsed).error?.issues[0];
  if (fault !== undefined) throw new Fault(`${fault.path.join('.')}: ${fault.message}`);
  const leaves = leavesOf(parsed.schema);
  const count = parsed.row_groups.length * leaves.length;
  const checksums = checkedChunks(struct, parsed.key_value_metadata ?? [], count);
  let rows = 0;
  const groups = parsed.row_groups.map(({ num_rows, columns }, number): RowGroup => {
    const firstRow = rows;
    if (num_rows < 0n || num_rows > BigInt(LIMITS.parquetGroupRows)) {
      throw unsupported(path, `its row group ${number} has ${num_rows} rows, not up to ${LIMITS.parquetGroupRows}`);
    }
    if (columns.length !== leaves.length) throw new Fault(`row group ${number} has ${columns.length} columns`);
    rows += Number(num_rows);
    const sums = checksums?.slice(number * leaves.length, (number + 1) * leaves.length);
    return { rows: Number(num_rows), firstRow, chunks: columns, ...(sums === undefined ? {} : { checksums: sums }) };
  });
  if (BigInt(rows) !== parsed.num_rows) throw new Fault(`it says ${parsed.num_rows} rows, its row groups have ${rows}`);
  return { path, bytes, rows, groups, leaves };
}

/** The column of that name. Throws `DataInvalid` when it is missing, there twice, or of a kind that cannot be read. */
export function leafNamed({ path, leaves }: Footer, name: string): Leaf {
  const [leaf, other] = leaves.filter((each) => each.name === name);
  if (leaf === undefined) {
    const under = leaves.find((each) => each.name.startsWith(`${name}.`));
    if (under?.unsupported !== undefined) {
      throw unsupported(path, `column ${under.name} cannot be read: ${under.unsupported}`);
    }
    const names = leaves.map((each) => each.name);
    const near = nearName(name, names);
    const shown = names.slice(0, SHOWN_NAMES).join(', ');
    throw new PaddletError('DataInvalid', `${path} has no column ${name}`, {
      hint: `${near === undefined ? '' : `did you mean ${near}? `}its columns are ${shown}${names.length > SHOWN_NAMES ? ', …' : ''}`,
    });
  }
  if (other !== undefined) throw unsupported(path, `it has two columns named ${name}`);
  if (leaf.unsupported !== undefined) throw unsupported(path, `column ${name} cannot be read: ${leaf.unsupported}`);
  return leaf;
}

const SHOWN_NAMES = 50;

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

const encrypted = (path: string): PaddletError =>
  new PaddletError('DataInvalid', `${path} is encrypted`, { hint: 'write the file again without encryption' });

const noParquet = (path: string, reason: string): PaddletError =>
  new PaddletError('DataInvalid', `${path} is not a Parquet file: ${reason}`, {
    hint: 'set data.format of the job, or --format of predict, to the format of the file',
  });
