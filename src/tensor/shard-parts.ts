/** The part of gradients, or of other floats by block and row, that is of some of the shards that they are of. */
import { blockLength, blockShards } from './blocks.ts';
import { gatherRows } from './gather-rows.ts';
import type { IdRouter } from './id-router.ts';
import type { DensePart, RoundGradients, SparsePart } from './parameters.ts';
import type { ParameterSpec } from './spec.ts';

export interface ShardParts {
  readonly spec: ParameterSpec;
  /** Number of shards of the job. */
  readonly shards: number;
  readonly router: IdRouter;
}

/** Parts of which nothing is in those shards are left out. The arrays may be those of `all`. */
export function partsOfShards(of: ShardParts, all: RoundGradients, those: readonly number[]): RoundGradients {
  const wanted = new Set(those);
  return {
    dense: all.dense.flatMap((part) => blocksOf(of, part, wanted)),
    sparse: all.sparse.flatMap((part) => rowsOf(of, part, wanted)),
  };
}

function blocksOf({ spec, shards }: ShardParts, part: DensePart, wanted: ReadonlySet<number>): DensePart[] {
  const dense = spec.dense[part.parameter]!;
  const shardOf = blockShards(dense, shards);
  const blocks = part.blocks.filter((block) => wanted.has(shardOf[block]!));
  if (blocks.length === part.blocks.length) return [part];
  if (blocks.length === 0) return [];
  const kept: Uint8Array[] = [];
  let at = 0;
  for (const block of part.blocks) {
    const end = at + 4 * blockLength(dense, block);
    if (wanted.has(shardOf[block]!)) kept.push(part.gradients.subarray(at, end));
    at = end;
  }
  return [{ ...part, blocks, gradients: joinBytes(kept) }];
}

function rowsOf({ spec, shards, router }: ShardParts, part: SparsePart, wanted: ReadonlySet<number>): SparsePart[] {
  const { name, width } = spec.sparse[part.table]!;
  const isOther = Int32Array.from({ length: shards }, (_, shard) => (wanted.has(shard) ? 0 : 1));
  const [first] = router.route(name, part.ids, part.ids.byteLength / 8, isOther);
  if (first === undefined || first.pserver !== 0) return [];
  const { gradients } = part;
  const rows = new Float32Array(gradients.buffer, gradients.byteOffset, gradients.byteLength / 4);
  const kept = gatherRows(rows, width, first.positions);
  return [{ ...part, ids: first.ids, gradients: new Uint8Array(kept.buffer, kept.byteOffset, kept.byteLength) }];
}

/** The pieces in a new array, one after the other. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
