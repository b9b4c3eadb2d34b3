/**
 * From raw columns to features by id. A number is one feature, whose id is that of the empty text in a vocabulary of
 * the column's name; that it is missing is a second one. Features of a record are in the order of the wanted columns,
 * whatever the order of its fields, so the same records give the same bits.
 */
import { AssertionError, assert } from '../../base/assert.ts';
import { reused } from '../../base/reused.ts';
import { crossIds } from '../kernels/cross-ids.ts';
import {
  type Column,
  type ColumnSlots,
  type CrossColumn,
  isSingle,
  makesFeatures,
  slotsOf,
  vocabularyOf,
} from './column.ts';
import { categoryId, type Halves, halvesOf, missingId, vocabularySeed } from './hash.ts';
import { type KnownColumns, type Normalize, NumberParts, normalizer, stand } from './numbers.ts';
import type { ColumnPiece, ListIds } from './piece.ts';
import type { NumberStatistics } from './statistics.ts';

const NOTHING = new Uint8Array(0);

/** Features of some records. The arrays are views, which end when their maker makes the next features. */
export interface PieceFeatures {
  readonly count: number;
  /** For each record, where its features end. */
  readonly ends: Uint32Array;
  /** u32 halves. */
  readonly ids: Uint32Array;
  /** Undefined when all are 1. */
  readonly values: Float32Array | undefined;
  /** The place of the column that made each, among the wanted ones; undefined where no model reads them. */
  readonly fields: Uint16Array | undefined;
}

type Maker =
  | {
      readonly kind: 'number';
      readonly slot: number;
      /** Low and high half of its id. */
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
  /** Features that each record has, and the most besides those of lists. */
  readonly #always: number;
  readonly #most: number;
  readonly #allOnes: boolean;
  readonly #room = {
    ids: reused((length) => new Uint32Array(length)),
    values: reused((length) => new Float32Array(length)),
    fields: reused((length) => new Uint16Array(length)),
    at: reused((length) => new Uint32Array(length)),
    ends: reused((length) => new Uint32Array(length)),
  };

  /** `wanted`: the columns that features are made of, some of all. */
  constructor({ columns, statistics }: KnownColumns, wanted: readonly Column[] = columns.filter(makesFeatures)) {
    const slots = slotsOf(columns);
    const crosses = wanted.filter((column) => column.type === 'cross');
    this.#crosses = crosses.map((cross) => crossOf(cross, columns, slots, statistics));
    this.#makers = wanted.map((column) => makerOf(column, slots, statistics, crosses));
    this.#always = this.#makers.filter(({ kind }) => kind !== 'list').length;
    this.#most = this.#always + this.#makers.filter(({ kind }) => kind === 'number').length;
    this.#allOnes = this.#makers.every(({ kind }) => kind !== 'number');
  }

  /** Maximum number of features of `records` records whose lists have `listIds` ids in all. */
  mostFeatures(records: number, listIds: number): number {
    return this.#most * records + (this.#always < this.#makers.length ? listIds : 0);
  }

  featuresOf(piece: ColumnPiece, readsFields = false): PieceFeatures {
    const { records } = piece;
    const crosses = this.#crosses.map((cross) => crossed(cross, piece));
    const room = this.#room;
    const ends = this.#endsOf(piece, room.ends(records));
    const count = records === 0 ? 0 : ends[records - 1]!;
    const into: Filled = {
      ids: room.ids(2 * count),
      values: this.#allOnes ? undefined : room.values(count).fill(1),
      at: room.at(records).fill(0, 0, 1),
    };
    into.at.set(ends.subarray(0, Math.max(0, records - 1)), 1);
    // Column by column, each in a separate loop: a column after the other goes behind what its records have.
    const fields = readsFields ? room.fields(count) : undefined;
    for (const [field, maker] of this.#makers.entries()) {
      const from = fields && into.at.slice();
      if (maker.kind === 'number') putNumbers(maker, piece.numbers[maker.slot]!, into);
      else if (maker.kind === 'parts') putParts(maker.parts, piece.numbers[maker.slot]!, into);
      else if (maker.kind === 'list') putLists(piece.lists[maker.slot]!, piece.listIds, into);
      else putIds(maker.kind === 'single' ? piece.single[maker.slot]! : crosses[maker.number]!, into);
      from?.forEach((place, record) => {
        fields!.fill(field, place, into.at[record]!);
      });
    }
    return { count, ends, ids: into.ids, values: into.values, fields };
  }

  /** For each record, where its features end. */
  #endsOf({ records, numbers, lists }: ColumnPiece, counts: Uint32Array): Uint32Array {
    counts.fill(this.#always);
    for (const maker of this.#makers) {
      if (maker.kind === 'number' && maker.missingId !== undefined) {
        const values = numbers[maker.slot]!;
        for (let record = 0; record < records; record++) if (Number.isNaN(values[record]!)) counts[record]! += 1;
      } else if (maker.kind === 'list') {
        const { starts, ends } = lists[maker.slot]!;
        for (let record = 0; record < records; record++) counts[record]! += ends[record]! - starts[record]!;
      }
    }
    for (let record = 1; record < records; record++) counts[record]! += counts[record - 1]!;
    return counts;
  }
}

/** Features that are being put together. */
interface Filled {
  readonly ids: Uint32Array;
  readonly values: Float32Array | undefined;
  /** For each record, where its next feature goes. */
  readonly at: Uint32Array;
}

function putNumbers(
  { low, high, missingId: ofMissing, missingValue, normalize }: Maker & { kind: 'number' },
  numbers: Float32Array,
  { ids, values, at }: Filled,
): void {
  for (let record = 0; record < at.length; record++) {
    const value = numbers[record]!;
    const isMissing = Number.isNaN(value);
    let place = at[record]!;
    ids[2 * place] = low;
    ids[2 * place + 1] = high;
    values![place++] = isMissing ? missingValue : normalize(value);
    if (isMissing && ofMissing !== undefined) {
      ids[2 * place] = ofMissing[0];
      ids[2 * place + 1] = ofMissing[1];
      place += 1;
    }
    at[record] = place;
  }
}

function putParts(parts: NumberParts, numbers: Float32Array, { ids, at }: Filled): void {
  for (let record = 0; record < at.length; record++) {
    const [low, high] = parts.idOf(numbers[record]!);
    const place = at[record]!++;
    ids[2 * place] = low;
    ids[2 * place + 1] = high;
  }
}

/** `from`: an id a record. */
function putIds(from: Uint32Array, { ids, at }: Filled): void {
  for (let record = 0; record < at.length; record++) {
    const place = at[record]!++;
    ids[2 * place] = from[2 * record]!;
    ids[2 * place + 1] = from[2 * record + 1]!;
  }
}

function putLists({ starts, ends }: ListIds, listIds: Uint32Array, { ids, at }: Filled): void {
  for (let record = 0; record < at.length; record++) {
    const [from, to] = [starts[record]!, ends[record]!];
    let place = at[record]!;
    for (let id = from; id < to; id++, place++) {
      ids[2 * place] = listIds[2 * id]!;
      ids[2 * place + 1] = listIds[2 * id + 1]!;
    }
    at[record] = place;
  }
}

function makerOf(
  column: Column,
  { numbers, single, lists }: ColumnSlots,
  statistics: readonly NumberStatistics[],
  crosses: readonly CrossColumn[],
): Maker {
  switch (column.type) {
    case 'number': {
      const slot = numbers.indexOf(column);
      const known = statistics[slot];
      assert(known?.name === column.name, 'statistics a number column');
      if (column.quantiles !== undefined) return { kind: 'parts', slot, parts: new NumberParts(column, known) };
      const seed = vocabularySeed(column.name);
      const normalize = normalizer(column, known);
      const [low, high] = halvesOf(categoryId(NOTHING, seed));
      return {
        kind: 'number',
        slot,
        low,
        high,
        missingId: column.missing === 'mean' ? halvesOf(missingId(seed)) : undefined,
        normalize,
        missingValue: normalize(stand(column, known)),
      };
    }
    case 'category':
    case 'categories':
      if (isSingle(column)) return { kind: 'single', slot: single.indexOf(column) };
      return { kind: 'list', slot: lists.indexOf(column) };
    case 'cross':
      return { kind: 'cross', number: crosses.indexOf(column) };
    default:
      throw new AssertionError(`a column of type ${column.type} makes features`);
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
