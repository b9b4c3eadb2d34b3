/** The beginning of a columns file (docs/columns-file.md): which columns it has, and how their values were made. */
import { crc32 } from 'node:zlib';
import * as z from 'zod';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { once } from '../../../base/once.ts';
import { parsedJson } from '../../../base/parsed-json.ts';
import { type ColumnSpec, type FieldColumn, vocabularyOf } from '../../columns/column.ts';
import { fieldColumns } from '../../columns/layout.ts';
import type { FileLayout } from '../../source.ts';

export const MAGIC = Buffer.from('PDLTCOLS', 'latin1');
const VERSION = 1;
const FRAME = { version: 8, crc32: 12, jsonBytes: 16, json: 24 } as const;
export const FRAME_BYTES = FRAME.json;

const texts = z.array(z.string()).optional();
const schema = once(() =>
  z.strictObject({
    columns: z
      .array(
        z.strictObject({
          name: z.string(),
          type: z.enum(['number', 'category', 'categories', 'label', 'weight', 'group', 'time']),
          ids: z.enum(['hash', 'integer']).optional(),
          vocabulary: z.string().optional(),
          buckets: z.number().optional(),
          separator: z.string().optional(),
          format: z.string().optional(),
          zone: z.string().optional(),
          positive: texts,
          negative: texts,
          classes: texts,
        }),
      )
      .max(LIMITS.columns),
    /** Path of the file that it was made of: splits by position go by it, and messages. */
    source: z.string(),
  }),
);

export type FileHeader = z.infer<ReturnType<typeof schema>>;
type FileColumn = FileHeader['columns'][number];

/** The columns of a job that a file has values of, in the order of their numbers. */
export const kept = (spec: ColumnSpec): FieldColumn[] => fieldColumns(spec).filter(({ type }) => type !== 'ignore');

export function encodeHeader(spec: ColumnSpec, source: string): Buffer {
  const text = Buffer.from(JSON.stringify({ columns: kept(spec).map(fileColumn), source } satisfies FileHeader));
  const bytes = Buffer.alloc(Math.ceil((FRAME_BYTES + text.length) / 8) * 8, ' ');
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(VERSION, FRAME.version);
  bytes.writeBigUInt64LE(BigInt(bytes.length - FRAME_BYTES), FRAME.jsonBytes);
  text.copy(bytes, FRAME.json);
  bytes.writeUInt32LE(crc32(bytes.subarray(FRAME.jsonBytes)), FRAME.crc32);
  return bytes;
}

/** What decides the values of a column, as they are in the file. */
function fileColumn(column: FieldColumn): FileColumn {
  const { name } = column;
  switch (column.type) {
    case 'category':
    case 'categories': {
      const { type, ids, buckets } = column;
      const separator = column.type === 'categories' ? column.separator : undefined;
      return { name, type, ids, vocabulary: vocabularyOf(column), buckets, separator };
    }
    case 'group':
      return { name, type: column.type, ids: column.ids };
    case 'label': {
      const { type, positive, negative, classes } = column;
      return { name, type, positive: listOf(positive), negative: listOf(negative), classes: listOf(classes) };
    }
    case 'time': {
      const { type, format, zone } = column;
      return { name, type, format, zone };
    }
    case 'number':
    case 'weight':
      return { name, type: column.type };
    case 'ignore':
      throw new Error('a column that is not read has no values');
  }
}

const listOf = (given: readonly string[] | undefined): string[] | undefined => given && [...given];

/** Bytes of the whole header, by those of its frame. Throws `DataInvalid`. */
export function headerBytes(path: string, frame: Buffer): number {
  if (frame.length < FRAME_BYTES || !MAGIC.equals(frame.subarray(0, MAGIC.length))) {
    throw new PaddletError('DataInvalid', `${path} is not a columns file`, {
      hint: 'make a columns file with `paddlet data convert`, or set data.format to the format of the file',
    });
  }
  const version = frame.readUInt32LE(FRAME.version);
  if (version !== VERSION) {
    throw new PaddletError(
      'DataInvalid',
      `expected version ${VERSION} of the columns file ${path}, got version ${version}`,
      {
        hint: 'convert it again with this version of paddlet',
      },
    );
  }
  const bytes = frame.readBigUInt64LE(FRAME.jsonBytes);
  if (bytes > BigInt(LIMITS.columnsHeaderBytes)) throw damaged(path, `the header cannot have ${bytes} bytes`);
  return FRAME_BYTES + Number(bytes);
}

/** `bytes`: the whole header. Throws `DataInvalid`. */
export function decodeHeader(path: string, bytes: Buffer): FileHeader {
  if (bytes.length < headerBytes(path, bytes)) throw damaged(path, 'the file ends within its header');
  if (bytes.readUInt32LE(FRAME.crc32) !== crc32(bytes.subarray(FRAME.jsonBytes))) {
    throw damaged(path, 'the check sum of its header differs');
  }
  const header = schema().safeParse(parsedJson(bytes.toString('utf8', FRAME.json)));
  if (!header.success) throw damaged(path, 'its header cannot be read');
  return header.data;
}

export const damaged = (path: string, fault: string): PaddletError =>
  new PaddletError('DataInvalid', `${path} is damaged: ${fault}`, {
    hint: 'copy the file again, or convert its source again',
  });

/** Where the columns of a job are among those of the file. Throws `DataInvalid` when one is not as the job reads it. */
export function layoutOf(path: string, header: FileHeader, spec: ColumnSpec): FileLayout {
  const positions = fieldColumns(spec).map((column) => {
    if (column.type === 'ignore') return -1;
    const found = header.columns.findIndex(({ name }) => name === column.name);
    if (found < 0) {
      const names = header.columns.map(({ name }) => name).join(', ');
      throw new PaddletError('DataInvalid', `${path} does not have a column ${column.name}; its columns are ${names}`, {
        hint: `convert ${header.source} again with a job file that has this column in data.columns`,
      });
    }
    refuseOther(path, header, header.columns[found]!, fileColumn(column));
    return found;
  });
  return { fields: header.columns.length, positions };
}

const SETTINGS = [
  'type',
  'ids',
  'vocabulary',
  'buckets',
  'separator',
  'format',
  'zone',
  'positive',
  'negative',
  'classes',
] as const;

function refuseOther(path: string, { source }: FileHeader, found: FileColumn, expected: FileColumn): void {
  const differs = SETTINGS.find((setting) => JSON.stringify(found[setting]) !== JSON.stringify(expected[setting]));
  if (differs === undefined) return;
  const shown = (column: FileColumn): string => JSON.stringify(column[differs]) ?? 'none';
  const what = `column ${found.name} of ${path} was converted with ${differs} ${shown(found)}`;
  throw new PaddletError('DataInvalid', `${what}, but the job has ${shown(expected)}`, {
    hint: `convert ${source} again with this job, or change data.columns.${found.name} back to its settings in that conversion`,
  });
}
