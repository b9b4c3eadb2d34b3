/**
 * Sync mode: cuts the round state of a unit into pieces of bounded size, which travel with the copy of a shard to the
 * target of a move. The target puts the state together again (`IncomingRounds`).
 */
import { PaddletError } from '../../../base/errors.ts';
import { blockCount, blockLength } from '../../../tensor/blocks.ts';
import { joinBytes } from '../../../tensor/shard-parts.ts';
import type { DenseSpec, ParameterSpec } from '../../../tensor/spec.ts';
import type { RoundsPlace } from '../held/next-round.ts';
import type { OldValues } from '../held/pre-image.ts';
import type { TimedRounds } from '../held/unit-rounds.ts';
import type { CopyPiece } from './copy-pieces.ts';

type OldRows = OldValues['sparse'][number];
type OldBlocks = OldValues['dense'][number];

/** A piece has at most `maxBytes`, but at least one row or one block. The last piece has the version and timeline. */
export function roundsPieces(spec: ParameterSpec, rounds: TimedRounds, maxBytes: number): CopyPiece[] {
  const { timeline, version, previous, metrics } = rounds;
  const keepsPrevious = previous !== undefined;
  return [
    ...(previous?.sparse ?? []).flatMap((rows) => rowPieces(spec.sparse[rows.table]!.width, rows, maxBytes)),
    ...(previous?.dense ?? []).flatMap((blocks) => blockPieces(spec.dense[blocks.parameter]!, blocks, maxBytes)),
    { header: { part: 'rounds', timeline, version, keepsPrevious, metrics }, segments: [] },
  ];
}

function rowPieces(width: number, { table, ids, values }: OldRows, maxBytes: number): CopyPiece[] {
  const rows = Math.max(1, Math.floor(maxBytes / (ID_BYTES + FLOAT_BYTES * width)));
  return Array.from({ length: Math.ceil(ids.byteLength / (ID_BYTES * rows)) }, (_, at) => {
    const [from, to] = [at * rows, (at + 1) * rows];
    return {
      header: { part: 'oldRows', table },
      segments: [
        ids.subarray(ID_BYTES * from, ID_BYTES * to),
        values.subarray(FLOAT_BYTES * width * from, FLOAT_BYTES * width * to),
      ],
    };
  });
}

function blockPieces(dense: DenseSpec, { parameter, blocks, values }: OldBlocks, maxBytes: number): CopyPiece[] {
  const pieces: CopyPiece[] = [];
  let [first, from, to] = [0, 0, 0];
  const end = (next: number): void => {
    if (next === first) return;
    const numbers = blocks.slice(first, next);
    const segments = [new Uint8Array(numbers.buffer), values.subarray(from, to)];
    pieces.push({ header: { part: 'oldBlocks', parameter }, segments });
    [first, from] = [next, to];
  };
  blocks.forEach((block, at) => {
    const byteLength = FLOAT_BYTES * blockLength(dense, block);
    if (to - from + byteLength + BLOCK_BYTES * (at - first + 1) > maxBytes) end(at);
    to += byteLength;
  });
  end(blocks.length);
  return pieces;
}

const ID_BYTES = 8;
const BLOCK_BYTES = 4;
const FLOAT_BYTES = 4;

/**
 * The round state of a unit that is arriving. The old values of its shards add up. A round that is applied here
 * replaces the whole state.
 */
export class IncomingRounds {
  readonly #spec: ParameterSpec;
  readonly #rows = new Map<number, OldRows[]>();
  readonly #blocks = new Map<number, OldBlocks[]>();
  #at: RoundsPlace | undefined;
  #keepsPrevious = false;

  constructor(spec: ParameterSpec) {
    this.#spec = spec;
  }

  /** Throws `BadMessage` and `UnknownParameter`; then the caller must discard this state. */
  put({ header, segments }: CopyPiece): void {
    const [numbers, values] = segments;
    if (header.part === 'rounds') {
      const { timeline, version, metrics, keepsPrevious } = header;
      this.#at = { timeline, version, metrics };
      this.#keepsPrevious = keepsPrevious;
    } else if (header.part === 'oldRows') this.#putRows(header.table, numbers!, values!);
    else if (header.part === 'oldBlocks') this.#putBlocks(header.parameter, numbers!, values!);
    else throw new PaddletError('BadMessage', `a piece '${header.part}' is not about rounds`);
  }

  /** A round was applied to the shards that have arrived. */
  applied({ previous, ...at }: TimedRounds): void {
    this.#at = at;
    this.#keepsPrevious = previous !== undefined;
    this.#rows.clear();
    this.#blocks.clear();
    for (const rows of previous?.sparse ?? []) listIn(this.#rows, rows.table).push(rows);
    for (const blocks of previous?.dense ?? []) listIn(this.#blocks, blocks.parameter).push(blocks);
  }

  /** Undefined before the first `rounds` piece. */
  get place(): RoundsPlace | undefined {
    return this.#at;
  }

  /** Undefined before the first `rounds` piece. */
  state(): TimedRounds | undefined {
    return this.#at && { ...this.#at, previous: this.#keepsPrevious ? this.#previous() : undefined };
  }

  #previous(): OldValues {
    return {
      dense: [...this.#blocks].map(([parameter, list]) => {
        const blocks = joinBytes(
          list.map(({ blocks }) => new Uint8Array(blocks.buffer, blocks.byteOffset, blocks.byteLength)),
        );
        return {
          parameter,
          blocks: new Uint32Array(blocks.buffer),
          values: joinBytes(list.map(({ values }) => values)),
        };
      }),
      sparse: [...this.#rows].map(([table, list]) => {
        return {
          table,
          ids: joinBytes(list.map(({ ids }) => ids)),
          values: joinBytes(list.map(({ values }) => values)),
        };
      }),
    };
  }

  #putRows(table: number, ids: Uint8Array, values: Uint8Array): void {
    const width = this.#spec.sparse[table]?.width;
    if (width === undefined) throw new PaddletError('UnknownParameter', `table ${table}: the model does not have it`);
    const rows = ids.byteLength / ID_BYTES;
    if (!Number.isInteger(rows) || values.byteLength !== rows * FLOAT_BYTES * width) throw unfit('rows');
    listIn(this.#rows, table).push({ table, ids, values });
  }

  #putBlocks(parameter: number, numbers: Uint8Array, values: Uint8Array): void {
    const dense = this.#spec.dense[parameter];
    if (dense === undefined) {
      throw new PaddletError('UnknownParameter', `dense parameter ${parameter}: the model does not have it`);
    }
    if (numbers.byteLength % BLOCK_BYTES !== 0) throw unfit('blocks');
    const blocks = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.byteLength / BLOCK_BYTES);
    const count = blockCount(dense);
    if (blocks.some((block) => block >= count)) throw unfit('blocks');
    const floats = blocks.reduce((sum, block) => sum + blockLength(dense, block), 0);
    if (values.byteLength !== FLOAT_BYTES * floats) throw unfit('blocks');
    listIn(this.#blocks, parameter).push({ parameter, blocks, values });
  }
}

function listIn<T>(lists: Map<number, T[]>, key: number): T[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

const unfit = (what: string): PaddletError =>
  new PaddletError('BadMessage', `old values do not fit the ${what} that they belong to`);
