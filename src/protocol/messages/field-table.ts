/**
 * Messages as tables of fields, in the order of the wire. From one table come the schema of a message (here), and the
 * code that writes its header and reads it, checking as it reads (`scripts/generate-headers.ts`).
 */
import * as z from 'zod';
import { LIMITS } from '../../base/limits.ts';

/** A 64-bit number as text. */
export const DECIMAL = new RegExp(`^\\d{1,${LIMITS.decimalDigits}}$`);

interface Count {
  readonly kind: 'count';
  readonly max: number;
}
interface Real {
  readonly kind: 'real';
}
interface Share {
  readonly kind: 'share';
}
interface Flag {
  readonly kind: 'flag';
}
interface Text {
  readonly kind: 'text';
  readonly max: number;
}
interface Decimal {
  readonly kind: 'decimal';
}
interface Choice<T extends string> {
  readonly kind: 'choice';
  readonly of: readonly T[];
}
interface MapOf<F extends Fields> {
  readonly kind: 'map';
  readonly fields: F;
}
interface ListOf<F extends Fields> {
  readonly kind: 'list';
  /** Fields of the map that each item is. */
  readonly fields: F;
  readonly max: number;
}
interface ListOfCounts {
  readonly kind: 'counts';
  readonly max: number;
  readonly maxItems: number;
}
/** What a `schema` allows. Nearly always it is a map of these fields; whatever else it is is left to the library. */
interface Usually<S extends z.ZodType> {
  readonly kind: 'usually';
  readonly fields: Fields;
  readonly schema: () => S;
}
interface Optional<F extends Required> {
  readonly kind: 'optional';
  readonly field: F;
}

type Scalar = Count | Real | Share | Flag | Text | Decimal | Choice<string>;
type Required = Scalar | MapOf<Fields> | ListOf<Fields> | ListOfCounts | Usually<z.ZodType>;
export type Field = Required | Optional<Required>;
export interface Fields {
  readonly [name: string]: Field;
}

/** A whole number from 0 to `max`. */
export const count = (max: number = Number.MAX_SAFE_INTEGER): Count => ({ kind: 'count', max });
/** A finite number. */
export const real: Real = { kind: 'real' };
/** A number above 0, at most 1. */
export const share: Share = { kind: 'share' };
export const flag: Flag = { kind: 'flag' };
/** 1 to `max` characters. */
export const text = (max: number): Text => ({ kind: 'text', max });
/** A 64-bit number as text. */
export const decimal: Decimal = { kind: 'decimal' };
export const choice = <T extends string>(...of: readonly T[]): Choice<T> => ({ kind: 'choice', of });
export const mapOf = <F extends Fields>(fields: F): MapOf<F> => ({ kind: 'map', fields });
/** A list of at most `max` maps. */
export const listOf = <F extends Fields>(max: number, fields: F): ListOf<F> => ({ kind: 'list', fields, max });
/** At most `maxItems` whole numbers from 0 to `max`. */
export const listOfCounts = (maxItems: number, max: number): ListOfCounts => ({ kind: 'counts', maxItems, max });
export const usually = <S extends z.ZodType>(fields: Fields, schema: () => S): Usually<S> => {
  return { kind: 'usually', fields, schema };
};
export const optional = <F extends Required>(field: F): Optional<F> => ({ kind: 'optional', field });

type SchemaOf<F> =
  F extends Optional<infer Inner>
    ? z.ZodOptional<SchemaOf<Inner>>
    : F extends Count | Real | Share
      ? z.ZodType<number>
      : F extends Text | Decimal
        ? z.ZodType<string>
        : F extends Flag
          ? z.ZodType<boolean>
          : F extends Choice<infer T>
            ? z.ZodType<T>
            : F extends MapOf<infer M>
              ? z.ZodObject<ShapeOf<M>, z.core.$strict>
              : F extends ListOf<infer M>
                ? z.ZodArray<z.ZodObject<ShapeOf<M>, z.core.$strict>>
                : F extends ListOfCounts
                  ? z.ZodArray<z.ZodNumber>
                  : F extends Usually<infer S>
                    ? S
                    : never;
export type ShapeOf<F extends Fields> = { -readonly [Name in keyof F]: SchemaOf<F[Name]> };

/** The schemas of the fields, for a `z.strictObject`. */
export const shapeOf = <F extends Fields>(fields: F): ShapeOf<F> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)])) as ShapeOf<F>;

function schemaOf(field: Field): z.ZodType {
  switch (field.kind) {
    case 'count':
      return z.int().min(0).max(field.max);
    case 'real':
      return z.number();
    case 'share':
      return z.number().refine((value) => value > 0 && value <= 1, 'above 0, at most 1');
    case 'flag':
      return z.boolean();
    case 'text':
      return z.string().min(1).max(field.max);
    case 'decimal':
      return z.string().regex(DECIMAL);
    case 'choice':
      return z.enum(field.of);
    case 'map':
      return z.strictObject(shapeOf(field.fields));
    case 'list':
      return z.array(z.strictObject(shapeOf(field.fields))).max(field.max);
    case 'counts':
      return z.array(z.int().min(0).max(field.max)).max(field.maxItems);
    case 'usually':
      return field.schema();
    case 'optional':
      return schemaOf(field.field).optional();
  }
}

/** A field as `scripts/generate-headers.ts` uses it. */
export interface Column {
  readonly name: string;
  readonly kind: Required['kind'];
  readonly isOptional: boolean;
  /** Largest number or most characters; of a list of maps, most items; 0 for other kinds. */
  readonly max: number;
  /** Maximum number of items in a list of numbers. */
  readonly maxItems: number;
  readonly choices: readonly string[];
  /** Fields of a map, or of each item of a list. */
  readonly columns: readonly Column[];
}

export const columnsOf = (fields: Fields): readonly Column[] =>
  Object.entries(fields).map(([name, field]) => {
    const isOptional = field.kind === 'optional';
    const inner = isOptional ? field.field : field;
    return {
      name,
      kind: inner.kind,
      isOptional,
      max: maxOf(inner),
      maxItems: 'maxItems' in inner ? inner.maxItems : 0,
      choices: inner.kind === 'choice' ? inner.of : [],
      columns: 'fields' in inner ? columnsOf(inner.fields) : [],
    };
  });

function maxOf(field: Required): number {
  if (field.kind === 'decimal') return LIMITS.decimalDigits;
  return 'max' in field ? field.max : 0;
}
