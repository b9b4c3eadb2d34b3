/**
 * From raw columns to features by id. A number is one feature, whose id is that of the empty text in a vocabulary of
 * the column's name; that it is missing is a second one. Features of a record are in the order of the columns, whatever
 * the order of its fields, so the same records give the same bits.
 */
import { assert } from '../../base/assert.ts';
import { crossIds } from '../kernels/cross-ids.ts';
import { type Column, type ColumnSlots, type CrossColumn, isSingle, slotsOf, vocabularyOf } from './column.ts';
import { categoryId, missingId, vocabularySeed } from './hash.ts';
import { type Halves, halvesOf, type KnownColumns, type Normalize, NumberParts, normalizer, stand } from './numbers.ts';
import type { ColumnPiece } from './piece.ts';
import type { NumberStatistics } from './statistics.ts';

const NOTHING = new Uint8Array(0);

/** Features of some records. */
export interface PieceFeatures {
  readonly count: number;
  /** Of each record, where its features end. */
  readonly ends: Uint32Array;
  /** u32 halves. */
  readonly ids: Uint32Array;
  /** Undefined when all are 1. */
  readonly values: Float32Array | undefined;
}

type Maker =
  | {
      readonly kind: 'number';
      readonly slot: number;
      /** Its id. */
      readonly low: number;
      readonly high: number;
      /** Undefined when a missing one has no feature of its own. */
      readonly missingId: Halves | undefined;
      readonly normalize: Normalize;
      readonly missingValue: number;
    }
  | { readonly kind: 'parts'; readonly slot: number; readonly parts: NumberParts }
  | { readonly kind: 'single'; readonly slot: number }
  | { readonly kind: 'list'; readonly slot: number }
  | { readonly kind: 'cross'; readonly number: number };

/** A column that a cross is made of: the id of each record. */
type CrossPart =
  | { readonly kind: 'single'; readonly slot: number }
  | { readonly kind: 'list'; readonly slot: number; readonly missing: Halves }
  | { readonly kind: 'parts'; readonly slot: number; readonly parts: NumberParts };

interface Cross {
  readonly seed: bigint;
  readonly buckets: number | undefined;
  readonly parts: readonly CrossPart[];
}

export class FeatureMaker {
  readonly #makers: readonly Maker[];
  readonly #crosses: readonly Cross[];
  /** Features of a record besides those of lists. */
  readonly #fixed: number;
  readonly #allOnes: boolean;

  constructor({ columns, statistics }: KnownColumns) {
    const slots = slotsOf(columns);
    const crosses = columns.filter((column) => column.type === 'cross');
    this.#crosses = crosses.map((cross) => crossOf(cross, columns, slots, statistics));
    this.#makers = columns.flatMap((column) => makerOf(column, slots, statistics, crosses));
    this.#fixed = this.#makers.reduce((sum, { kind }) => sum + (kind === 'number' ? 2 : kind === 'list' ? 0 : 1), 0);
    this.#allOnes = this.#makers.every(({ kind }) => kind !== 'number');
  }

  /** Most features of so many records, whose lists have so many ids in all. */
  mostFeatures(records: number, listIds: number): number {
    return this.#fixed * records + listIds;
  }

  featuresOf(piece: ColumnPiece): PieceFeatures {
    const { records } = piece;
    const most = this.mostFeatures(records, piece.listIds.length / 2);
    const crosses = this.#crosses.map((cross) => crossed(cross, piece));
    const ids = new Uint32Array(2 * most);
    const values = this.#allOnes ? undefined : new Float32Array(most).fill(1);
    const ends = new Uint32Array(records);
    let count = 0;
    for (let record = 0; record < records; record++) {
      for (const maker of this.#makers) {
        switch (maker.kind) {
          case 'single': {
            const from = piece.single[maker.slot]!;
            ids[2 * count] = from[2 * record]!;
            ids[2 * count + 1] = from[2 * record + 1]!;
            count += 1;
            break;
          }
          case 'number': {
            const value = piece.numbers[maker.slot]![record]!;
            const isMissing = Number.isNaN(value);
            ids[2 * count] = maker.low;
            ids[2 * count + 1] = maker.high;
            values![count] = isMissing ? maker.missingValue : maker.normalize(value);
            count += 1;
            if (!isMissing || maker.missingId === undefined) break;
            ids.set(maker.missingId, 2 * count);
            count += 1;
            break;
          }
          case 'parts':
            ids.set(maker.parts.idOf(piece.numbers[maker.slot]![record]!), 2 * count);
            count += 1;
            break;
          case 'list': {
            const { starts, ends: listEnds } = piece.lists[maker.slot]!;
            const [from, to] = [starts[record]!, listEnds[record]!];
            ids.set(piece.listIds.subarray(2 * from, 2 * to), 2 * count);
            count += to - from;
            break;
          }
          case 'cross': {
            const from = crosses[maker.number]!;
            ids[2 * count] = from[2 * record]!;
            ids[2 * count + 1] = from[2 * record + 1]!;
            count += 1;
            break;
          }
        }
      }
      ends[record] = count;
    }
    return { count, ends, ids: ids.subarray(0, 2 * count), values: values?.subarray(0, count) };
  }
}

function makerOf(
  column: Column,
  { numbers, single, lists }: ColumnSlots,
  statistics: readonly NumberStatistics[],
  crosses: readonly CrossColumn[],
): Maker[] {
  switch (column.type) {
    case 'number': {
      const slot = numbers.indexOf(column);
      const known = statistics[slot];
      assert(known?.name === column.name, 'statistics a number column');
      if (column.quantiles !== undefined) return [{ kind: 'parts', slot, parts: new NumberParts(column, known) }];
      const seed = vocabularySeed(column.name);
      const normalize = normalizer(column, known);
      const [low, high] = halvesOf(categoryId(NOTHING, seed));
      return [
        {
          kind: 'number',
          slot,
          low,
          high,
          missingId: column.missing === 'mean' ? halvesOf(missingId(seed)) : undefined,
          normalize,
          missingValue: normalize(stand(column, known)),
        },
      ];
    }
    case 'category':
    case 'categories':
      if (isSingle(column)) return [{ kind: 'single', slot: single.indexOf(column) }];
      return [{ kind: 'list', slot: lists.indexOf(column) }];
    case 'cross':
      return [{ kind: 'cross', number: crosses.indexOf(column) }];
    default:
      return [];
  }
}

function crossOf(
  { name, of, buckets }: CrossColumn,
  columns: readonly Column[],
  { numbers, single, lists }: ColumnSlots,
  statistics: readonly NumberStatistics[],
): Cross {
  const parts = of.map((wanted): CrossPart => {
    const column = columns.find((other) => other.name === wanted);
    if (column?.type === 'number') {
      const slot = numbers.indexOf(column);
      return { kind: 'parts', slot, parts: new NumberParts(column, statistics[slot]!) };
    }
    assert(column?.type === 'category', 'a cross is of categories');
    if (isSingle(column)) return { kind: 'single', slot: single.indexOf(column) };
    const missing = halvesOf(missingId(vocabularySeed(vocabularyOf(column) ?? column.name)));
    return { kind: 'list', slot: lists.indexOf(column), missing };
  });
  return { seed: vocabularySeed(name), buckets, parts };
}

function crossed({ seed, buckets, parts }: Cross, piece: ColumnPiece): Uint32Array {
  const { records } = piece;
  const ids = parts.map((part) => {
    if (part.kind === 'single') return piece.single[part.slot]!;
    const own = new Uint32Array(2 * records);
    for (let record = 0; record < records; record++) own.set(partId(part, piece, record), 2 * record);
    return own;
  });
  return crossIds(ids, records, seed, buckets);
}

function partId(part: Exclude<CrossPart, { kind: 'single' }>, piece: ColumnPiece, record: number): Halves {
  if (part.kind === 'parts') return part.parts.idOf(piece.numbers[part.slot]![record]!);
  const { starts, ends } = piece.lists[part.slot]!;
  const at = starts[record]!;
  return at === ends[record]! ? part.missing : [piece.listIds[2 * at]!, piece.listIds[2 * at + 1]!];
}
