/** The columns of a Parquet file: its leaves, what their values are, and how they are nested. */
import type { SchemaElement } from 'hyparquet';
import { LIMITS } from '../../../base/limits.ts';
import { Fault } from './fault.ts';

export type TimeUnit = 'ms' | 'us' | 'ns';

/** What a value means. */
export type Meaning =
  | { readonly kind: 'boolean' | 'integer' | 'float' | 'string' | 'binary' | 'uuid' }
  /** The value is the integer of `Values`, times 10^-scale. */
  | { readonly kind: 'decimal'; readonly scale: number }
  /** Since 1970; `isUtc` is false where the zone is not known. */
  | { readonly kind: 'timestamp'; readonly unit: TimeUnit; readonly isUtc: boolean }
  /** Days since 1970. */
  | { readonly kind: 'date' }
  /** Time since midnight. */
  | { readonly kind: 'time'; readonly unit: TimeUnit };

/** The arrays that its values come in (`values.ts`). */
export type Storage = 'bool' | 'i32' | 'u32' | 'i64' | 'u64' | 'f32' | 'f64' | 'bytes';

export type Physical = NonNullable<SchemaElement['type']>;

export interface Leaf {
  /** Names from the root, with points between them; of a list, those above what makes it one. */
  readonly name: string;
  /** Index of its chunk among the column chunks of a row group. */
  readonly index: number;
  readonly path: readonly string[];
  readonly physical: Physical;
  /** Bytes of each value, of `FIXED_LEN_BYTE_ARRAY`. */
  readonly width: number;
  readonly storage: Storage;
  readonly meaning: Meaning;
  /** Definition level of a value that is there. */
  readonly definition: number;
  /** Lists only: definition level from which on there is an element, which may be null. */
  readonly element?: number;
  /** Why it cannot be read, if it cannot. */
  readonly unsupported?: string;
}

interface Above {
  readonly path: readonly string[];
  readonly definition: number;
  /** The elements from the root down. */
  readonly elements: readonly SchemaElement[];
}

/** Throws a `Fault`. */
export function leavesOf(schema: readonly SchemaElement[]): Leaf[] {
  const leaves: Leaf[] = [];
  let at = 0;
  const visit = (above: Above): void => {
    const element = schema[at];
    if (element === undefined) throw new Fault('its schema ends too early');
    if (above.elements.length > LIMITS.parquetDepth) throw new Fault('its schema is nested too deeply');
    at += 1;
    const isRoot = above.elements.length === 0;
    const { num_children: children = 0, repetition_type: repetition } = element;
    const below: Above = {
      path: isRoot ? [] : [...above.path, element.name],
      definition: above.definition + (isRoot || repetition === 'REQUIRED' ? 0 : 1),
      elements: [...above.elements, element],
    };
    if (!isRoot && repetition === undefined) throw new Fault(`its schema does not say whether ${element.name} repeats`);
    if (element.type === undefined && (isRoot || children > 0)) {
      for (let child = 0; child < children; child++) visit(below);
    } else leaves.push(leafOf(element, below, leaves.length));
  };
  visit({ path: [], definition: 0, elements: [] });
  if (at !== schema.length) throw new Fault('its schema has elements outside of it');
  return leaves;
}

function leafOf(element: SchemaElement, { path, definition, elements }: Above, index: number): Leaf {
  const [storage, meaning, unknown] = typed(element);
  const { nesting, name = path.join('.'), element: inList } = nested(elements, path);
  const reason = nesting ?? unknown;
  const width = element.type_length ?? 0;
  if (element.type === 'FIXED_LEN_BYTE_ARRAY' && (width < 1 || width > LIMITS.recordBytes)) {
    throw new Fault(`values of ${path.join('.')} cannot have ${width} bytes`);
  }
  return {
    ...{ name, index, path, width, storage, meaning, definition },
    physical: element.type ?? 'BYTE_ARRAY',
    ...(inList === undefined ? {} : { element: inList }),
    ...(reason === undefined ? {} : { unsupported: reason }),
  };
}

/** A list is `repeated T x`, or a group with `repeated T x`, or with a `repeated group` of one `T`. */
function nested(elements: readonly SchemaElement[], path: readonly string[]) {
  const repeated = elements.flatMap(({ repetition_type }, at) =>
    at > 0 && repetition_type === 'REPEATED' ? [at] : [],
  );
  const [first] = repeated;
  if (first === undefined) return {};
  const isMap = elements.some((above) => /^MAP/.test(above.converted_type ?? above.logical_type?.type ?? ''));
  if (isMap) return { nesting: 'it is of a map' };
  if (repeated.length > 1) return { nesting: 'it is of a list of lists' };
  const last = elements.length - 1;
  const isOne = first === last || (first === last - 1 && elements[first]!.num_children === 1);
  if (!isOne) return { nesting: 'it is of a list of structs' };
  const group = elements[first - 1]!;
  const isGrouped = first > 1 && group.num_children === 1 && isList(group);
  const element = elements.slice(1, first + 1).filter((each) => each.repetition_type !== 'REQUIRED').length;
  return { name: path.slice(0, isGrouped ? first - 1 : first).join('.'), element };
}

const isList = (group: SchemaElement): boolean =>
  group.converted_type === 'LIST' || group.logical_type?.type === 'LIST';

type Typed = readonly [Storage, Meaning, unknown?: string];

function typed(element: SchemaElement): Typed {
  switch (element.type) {
    case 'BOOLEAN':
      return ['bool', { kind: 'boolean' }];
    case 'FLOAT':
      return ['f32', { kind: 'float' }];
    case 'DOUBLE':
      return ['f64', { kind: 'float' }];
    case 'INT96':
      // Nanoseconds of years past 2262 do not fit into 64 bits: files have 9999-12-31.
      return ['i64', { kind: 'timestamp', unit: 'us', isUtc: true }];
    case 'INT32':
      return integer(element, 'i32');
    case 'INT64':
      return integer(element, 'i64');
    case 'BYTE_ARRAY':
    case 'FIXED_LEN_BYTE_ARRAY':
      return bytes(element);
    default:
      return ['bytes', { kind: 'binary' }, 'it is of an unknown type'];
  }
}

const UNITS = { MILLIS: 'ms', MICROS: 'us', NANOS: 'ns' } as const;

function integer(element: SchemaElement, storage: 'i32' | 'i64'): Typed {
  const { logical_type: logical, converted_type: converted } = element;
  const time = /^(TIME|TIMESTAMP)_(MILLIS|MICROS)$/.exec(converted ?? '');
  if (isDecimal(element)) return ['i64', { kind: 'decimal', scale: scaleOf(element) }];
  if (logical?.type === 'DATE' || converted === 'DATE') return [storage, { kind: 'date' }];
  if (logical?.type === 'TIMESTAMP') {
    return [storage, { kind: 'timestamp', unit: UNITS[logical.unit], isUtc: logical.isAdjustedToUTC === true }];
  }
  if (logical?.type === 'TIME') return [storage, { kind: 'time', unit: UNITS[logical.unit] }];
  if (time !== null) {
    const unit = UNITS[time[2] as keyof typeof UNITS];
    return [storage, time[1] === 'TIME' ? { kind: 'time', unit } : { kind: 'timestamp', unit, isUtc: true }];
  }
  const isUnsigned = logical?.type === 'INTEGER' ? logical.isSigned !== true : converted?.startsWith('UINT') === true;
  if (!isUnsigned) return [storage, { kind: 'integer' }];
  return [storage === 'i32' ? 'u32' : 'u64', { kind: 'integer' }];
}

function bytes(element: SchemaElement): Typed {
  const { logical_type: logical, converted_type: converted, type_length: width, type } = element;
  if (isDecimal(element)) {
    // 18 digits fit into 64 bits.
    return [(precisionOf(element) ?? 39) <= 18 ? 'i64' : 'bytes', { kind: 'decimal', scale: scaleOf(element) }];
  }
  const isFixed = type === 'FIXED_LEN_BYTE_ARRAY';
  if (logical?.type === 'FLOAT16' && isFixed && width === 2) return ['f32', { kind: 'float' }];
  if (logical?.type === 'UUID' && isFixed && width === 16) return ['bytes', { kind: 'uuid' }];
  if (converted === 'INTERVAL') return ['bytes', { kind: 'binary' }, 'it is an interval'];
  const isText =
    ['STRING', 'ENUM', 'JSON'].includes(logical?.type ?? '') || ['UTF8', 'ENUM', 'JSON'].includes(converted ?? '');
  return ['bytes', { kind: isText ? 'string' : 'binary' }];
}

const isDecimal = ({ logical_type, converted_type }: SchemaElement): boolean =>
  logical_type?.type === 'DECIMAL' || converted_type === 'DECIMAL';

const precisionOf = ({ logical_type: logical, precision }: SchemaElement): number | undefined =>
  logical?.type === 'DECIMAL' ? logical.precision : precision;

function scaleOf({ logical_type: logical, scale: own }: SchemaElement): number {
  const scale = (logical?.type === 'DECIMAL' ? logical.scale : own) ?? 0;
  if (scale < 0 || scale > LIMITS.parquetDecimalDigits) throw new Fault(`a decimal cannot have ${scale} places`);
  return scale;
}
