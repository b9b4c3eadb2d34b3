/**
 * Which part of values and gradients goes to which pserver of a placement: dense blocks by a plan kept for each placement,
 * ids by their route. Makes the segments of pulls and pushes, and puts pulled values where they belong.
 */
import type { PulledValues } from '../../model/model.ts';
import { blockLength, blockShards, denseBlockFloats } from '../../tensor/blocks.ts';
import { gatherRows, type IdRouter, type Route, scatterRows } from '../../tensor/id-router.ts';
import type { DenseSpec, ParameterSpec } from '../../tensor/spec.ts';
import type { Placement } from '../placement/placement-view.ts';
import { createBufferPool, createPulledValuesPool } from './buffer-pool.ts';

/** Distinct ids, u64 little-endian. */
export interface IdList {
  readonly ids: Uint8Array;
  readonly count: number;
}

/** What one pserver has of the values that were asked for. */
export interface PserverSlice {
  /** The fields of the request. */
  readonly fields: {
    readonly dense: { parameter: number }[];
    readonly sparse: { table: number }[];
  };
  readonly isEmpty: boolean;
  pullSegments(): Uint8Array[];
  /** Puts the segments of the answer to a pull where they belong. */
  scatter(segment: (index: number) => Uint8Array, into: PulledValues): void;
  pushSegments(gradients: { dense: readonly Float32Array[]; sparse: readonly Float32Array[] }): Uint8Array[];
  /** The request was answered, and neither it nor the part is needed any more: the memory that they lie in is used again. */
  done(): void;
}

export interface Slicer {
  /** By position in the placement. */
  parts(placement: Placement, ids: IdList): PserverSlice[];
  /** Room for all values of so many ids, with any content: the parts together fill all of it. */
  room(ids: IdList): PulledValues;
  /** Takes room back that nobody refers to any more. */
  recycle(room: PulledValues): void;
}

/** Arrays that routes lie in and parts of gradients were gathered in, of all pservers and tables. */
const MOST_KEPT = 64;

/** Blocks of each dense parameter by pserver position. */
type DensePlan = readonly (readonly Uint32Array[])[];

export function createSlicer(options: {
  readonly spec: ParameterSpec;
  readonly shards: number;
  readonly router: IdRouter;
}): Slicer {
  const { spec, shards, router } = options;
  const pool = createPulledValuesPool(spec);
  const shelf = createBufferPool(MOST_KEPT);
  let planned: { version: number; plan: DensePlan } | undefined;

  function densePlan(placement: Placement): DensePlan {
    if (planned?.version === placement.version) return planned.plan;
    const plan = spec.dense.map((dense) => {
      const blocks: number[][] = placement.pservers.map(() => []);
      blockShards(dense, shards).forEach((shard, block) => {
        blocks[placement.primaryOf[shard]!]!.push(block);
      });
      return blocks.map((mine) => Uint32Array.from(mine));
    });
    planned = { version: placement.version, plan };
    return plan;
  }

  /** For each table, what goes to each pserver by its position in the placement. */
  function routeAll(placement: Placement, { ids, count }: IdList): (Route | undefined)[][] {
    const take = (byteLength: number): Uint8Array => bytesOf(shelf.take(Math.ceil(byteLength / 4)));
    return spec.sparse.map((table) => {
      const byPosition: (Route | undefined)[] = placement.pservers.map(() => undefined);
      const routes = router.route(table.name, ids, count, placement.primaryOf, take);
      for (const route of routes) byPosition[route.pserver] = route;
      return byPosition;
    });
  }

  function partOf(dense: DensePlan, routes: readonly (Route | undefined)[][], position: number): PserverSlice {
    const denseParts = spec.dense.map((_, p) => p).filter((p) => dense[p]![position]!.length > 0);
    const sparseParts = spec.sparse.map((_, t) => t).filter((t) => routes[t]![position] !== undefined);
    let lent = sparseParts.flatMap((t) => [routes[t]![position]!.ids.buffer, routes[t]![position]!.positions.buffer]);
    const lend = (length: number): Float32Array => {
      const array = shelf.take(length);
      lent.push(array.buffer);
      return array;
    };
    return {
      fields: {
        dense: denseParts.map((parameter) => ({ parameter })),
        sparse: sparseParts.map((table) => ({ table })),
      },
      isEmpty: denseParts.length + sparseParts.length === 0,
      pullSegments: () => [
        ...denseParts.map((p) => bytesOf(dense[p]![position]!)),
        ...sparseParts.map((t) => routes[t]![position]!.ids),
      ],
      scatter(segment, into) {
        denseParts.forEach((p, i) => {
          scatterBlocks(spec.dense[p]!, dense[p]![position]!, floatsIn(segment(i)), into.dense[p]!);
        });
        sparseParts.forEach((t, i) => {
          const rows = floatsIn(segment(denseParts.length + i));
          scatterRows(into.sparse[t]!, spec.sparse[t]!.width, routes[t]![position]!.positions, rows);
        });
      },
      pushSegments: (gradients) => [
        ...denseParts.flatMap((p) => {
          const blocks = dense[p]![position]!;
          return [bytesOf(blocks), bytesOf(gatherBlocks(spec.dense[p]!, blocks, gradients.dense[p]!, lend))];
        }),
        ...sparseParts.flatMap((t) => {
          const { ids, positions } = routes[t]![position]!;
          return [ids, bytesOf(gatherRows(gradients.sparse[t]!, spec.sparse[t]!.width, positions, lend))];
        }),
      ],
      done() {
        for (const memory of lent) shelf.giveBack(memory);
        lent = [];
      },
    };
  }

  return {
    parts(placement, ids) {
      const dense = densePlan(placement);
      const routes = routeAll(placement, ids);
      return placement.pservers.map((_, position) => partOf(dense, routes, position));
    },
    room: (ids) => pool.take(ids.count),
    recycle: (room) => pool.giveBack(room),
  };
}

const bytesOf = (array: Uint32Array | Float32Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** Segments are aligned to 8 bytes (docs/protocol.md), so this is a view. */
const floatsIn = (bytes: Uint8Array): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);

function scatterBlocks(spec: DenseSpec, blocks: Uint32Array, from: Float32Array, into: Float32Array): void {
  let at = 0;
  for (const block of blocks) {
    const length = blockLength(spec, block);
    into.set(from.subarray(at, at + length), block * denseBlockFloats);
    at += length;
  }
}

function gatherBlocks(
  spec: DenseSpec,
  blocks: Uint32Array,
  from: Float32Array,
  room: (length: number) => Float32Array,
): Float32Array {
  let total = 0;
  for (const block of blocks) total += blockLength(spec, block);
  if (total === from.length) return from;
  const gathered = room(total);
  let at = 0;
  for (const block of blocks) {
    const length = blockLength(spec, block);
    const first = block * denseBlockFloats;
    gathered.set(from.subarray(first, first + length), at);
    at += length;
  }
  return gathered;
}
