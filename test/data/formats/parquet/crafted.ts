/** Parquet files of one column, byte by byte: what no writer makes, or ought to. */

/** A number is 32 bits, a bigint 64; fields by number. */
export type Thrift =
  | number
  | bigint
  | boolean
  | string
  | Uint8Array
  | readonly Thrift[]
  | { readonly [id: number]: Thrift };

const TYPE = { true: 1, false: 2, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;

function typeOf(value: Thrift): number {
  if (typeof value === 'boolean') return value ? TYPE.true : TYPE.false;
  if (typeof value === 'number') return TYPE.i32;
  if (typeof value === 'bigint') return TYPE.i64;
  if (typeof value === 'string' || value instanceof Uint8Array) return TYPE.binary;
  return Array.isArray(value) ? TYPE.list : TYPE.struct;
}

export function varint(value: bigint | number): number[] {
  let rest = BigInt(value);
  const bytes: number[] = [];
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

export const zigzag = (value: bigint | number): number[] => {
  const wide = BigInt(value);
  return varint(wide < 0n ? -2n * wide - 1n : 2n * wide);
};

/** In thrift's compact protocol. */
export function encoded(value: Thrift): number[] {
  if (typeof value === 'boolean') return [];
  if (typeof value === 'number' || typeof value === 'bigint') return zigzag(value);
  if (typeof value === 'string') return encoded(Buffer.from(value));
  if (value instanceof Uint8Array) return [...varint(value.length), ...value];
  if (Array.isArray(value)) {
    const head = (15 << 4) | (value.length === 0 ? TYPE.i32 : typeOf(value[0]!));
    return [head, ...varint(value.length), ...value.flatMap(encoded)];
  }
  const fields = Object.entries(value as Readonly<Record<number, Thrift>>);
  return [...fields.flatMap(([id, field]) => [typeOf(field), ...zigzag(Number(id)), ...encoded(field)]), 0];
}

export interface CraftedPage {
  readonly kind: 'v1' | 'v2' | 'dictionary' | 'index';
  readonly values: number;
  readonly body: readonly number[];
  readonly encoding?: number;
  /** Fields of the page's header, in place of its own. */
  readonly header?: Readonly<Record<number, Thrift>>;
}

export const ENCODING = {
  plain: 0,
  rle: 3,
  bitPacked: 4,
  delta: 5,
  deltaLength: 6,
  deltaText: 7,
  byIndex: 8,
  split: 9,
} as const;
const PHYSICAL = { boolean: 0, i32: 1, i64: 2, i96: 3, f32: 4, f64: 5, bytes: 6, fixed: 7 } as const;
export const REPETITION = { required: 0, optional: 1, repeated: 2 } as const;

export interface Crafted {
  readonly type?: keyof typeof PHYSICAL;
  readonly pages: readonly CraftedPage[];
  /** As the metadata has it; by default the values of the data pages. */
  readonly values?: bigint;
  readonly rows?: bigint;
  readonly repetition?: number;
  /** The whole schema, in place of one column `x`. */
  readonly schema?: readonly Thrift[];
  readonly path?: readonly string[];
  readonly codec?: number;
  /** Fields in place of those of the metadata of the column, and of the file. */
  readonly column?: Readonly<Record<number, Thrift>>;
  readonly chunk?: Readonly<Record<number, Thrift>>;
  readonly file?: Readonly<Record<number, Thrift>>;
}

function pageBytes({ kind, values, body, encoding = ENCODING.plain, header = {} }: CraftedPage): number[] {
  const own: Readonly<Record<CraftedPage['kind'], Thrift>> = {
    v1: { 1: 0, 2: body.length, 3: body.length, 5: { 1: values, 2: encoding, 3: ENCODING.rle, 4: ENCODING.rle } },
    v2: { 1: 3, 2: body.length, 3: body.length, 8: { 1: values, 2: 0, 3: values, 4: encoding, 5: 0, 6: 0, 7: false } },
    dictionary: { 1: 2, 2: body.length, 3: body.length, 7: { 1: values, 2: ENCODING.plain } },
    index: { 1: 1, 2: body.length, 3: body.length, 6: {} },
  };
  return [...encoded({ ...(own[kind] as Readonly<Record<number, Thrift>>), ...header }), ...body];
}

export function craftedFile(crafted: Crafted): Buffer {
  const { type = 'i32', pages, codec = 0, path = ['x'] } = crafted;
  const chunk = pages.flatMap(pageBytes);
  const data = pages.filter(({ kind }) => kind === 'v1' || kind === 'v2');
  const { values = BigInt(data.reduce((sum, page) => sum + page.values, 0)) } = crafted;
  const { rows = values } = crafted;
  const physical = PHYSICAL[type];
  const schema = crafted.schema ?? [
    { 4: 'root', 5: 1 },
    { 1: physical, 3: crafted.repetition ?? REPETITION.required, 4: 'x' },
  ];
  const size = BigInt(chunk.length);
  const column = { 1: physical, 2: [0], 3: path, 4: codec, 5: values, 6: size, 7: size, 9: 4n, ...crafted.column };
  const metadata = encoded({
    ...{ 1: 1, 2: schema, 3: rows },
    4: [{ 1: [{ 2: 4n, 3: column, ...crafted.chunk }], 2: size, 3: rows }],
    ...crafted.file,
  });
  return wrapped(chunk, metadata);
}

export function wrapped(chunk: readonly number[], metadata: readonly number[]): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(metadata.length);
  return Buffer.concat([Buffer.from('PAR1'), Buffer.from([...chunk, ...metadata]), length, Buffer.from('PAR1')]);
}

export const u32 = (...values: readonly number[]): number[] => [...new Uint8Array(Uint32Array.from(values).buffer)];
