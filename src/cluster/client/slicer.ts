/**
 * Cuts pulls and pushes into one slice for each pserver of a placement: dense blocks by a plan kept for each placement,
 * ids by their route. Makes the segments of the requests, and scatters pulled values to where they belong.
 */
import type { PulledValues } from '../../model/model.ts';
import { blockLength, blockShards, denseBlockFloats } from '../../tensor/blocks.ts';
import { gatherRows, type IdRouter, type Route, scatterRows } from '../../tensor/id-router.ts';
import type { DenseSpec, ParameterSpec } from '../../tensor/spec.ts';
import type { Placement } from '../placement/placement-view.ts';
import { type BufferPool, createBufferPool, createPulledValuesPool } from './buffer-pool.ts';

/** Distinct ids, u64 little-endian. */
export interface IdList {
  readonly ids: Uint8Array;
  readonly count: number;
}

/** The part of a pull or push that goes to one pserver. */
export interface PserverSlice {
  /** Header fields that describe the segments. */
  readonly fields: {
    readonly dense: { parameter: number }[];
    readonly sparse: { table: number }[];
  };
  readonly isEmpty: boolean;
  pullSegments(): Uint8Array[];
  /** Copies the segments of the answer to a pull to where they belong in `into`. */
  scatter(segment: (index: number) => Uint8Array, into: PulledValues): void;
  pushSegments(gradients: { dense: readonly Float32Array[]; sparse: readonly Float32Array[] }): Uint8Array[];
  /** The request was answered, and neither it nor the slice is needed any more: their memory is used again. */
  release(): void;
}

export interface Slicer {
  /** By position in the placement. */
  slices(placement: Placement, ids: IdList): PserverSlice[];
  /** Arrays for all values of these ids, with arbitrary content: the slices together fill them. */
  allocate(ids: IdList): PulledValues;
  /** Takes back values that nothing refers to any more. */
  recycle(values: PulledValues): void;
}

/** Free arrays kept for routes and gathered gradients, of all pservers and tables together. */
const FREE_BUFFERS_KEPT = 64;

/** Blocks of each dense parameter by pserver position. */
type DensePlan = readonly (readonly Uint32Array[])[];

export function createSlicer(options: {
  readonly spec: ParameterSpec;
  readonly shards: number;
  readonly router: IdRouter;
}): Slicer {
  const { spec, shards, router } = options;
  const valuesPool = createPulledValuesPool(spec);
  const buffers = createBufferPool(FREE_BUFFERS_KEPT);
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

  /** For each table, the route to each pserver by its position in the placement. */
  function routeAll(placement: Placement, { ids, count }: IdList): (Route | undefined)[][] {
    const allocate = (byteLength: number): Uint8Array => bytesOf(buffers.acquire(Math.ceil(byteLength / 4)));
    return spec.sparse.map((table) => {
      const byPosition: (Route | undefined)[] = placement.pservers.map(() => undefined);
      const routes = router.route(table.name, ids, count, placement.primaryOf, allocate);
      for (const route of routes) byPosition[route.pserver] = route;
      return byPosition;
    });
  }

  return {
    slices(placement, ids) {
      const source = { spec, buffers, dense: densePlan(placement), routes: routeAll(placement, ids) };
      return placement.pservers.map((_, position) => sliceOf(source, position));
    },
    allocate: (ids) => valuesPool.acquire(ids.count),
    recycle: (values) => valuesPool.release(values),
  };
}

interface SliceSource {
  readonly spec: ParameterSpec;
  readonly buffers: BufferPool;
  readonly dense: DensePlan;
  /** For each table, by position. */
  readonly routes: readonly (readonly (Route | undefined)[])[];
}

function sliceOf({ spec, buffers, dense, routes }: SliceSource, position: number): PserverSlice {
  const parameters = spec.dense.map((_, p) => p).filter((p) => dense[p]![position]!.length > 0);
  const tables = spec.sparse.map((_, t) => t).filter((t) => routes[t]![position] !== undefined);
  let borrowed = tables.flatMap((t) => [routes[t]![position]!.ids.buffer, routes[t]![position]!.positions.buffer]);
  const borrow = (length: number): Float32Array => {
    const array = buffers.acquire(length);
    borrowed.push(array.buffer);
    return array;
  };
  return {
    fields: {
      dense: parameters.map((parameter) => ({ parameter })),
      sparse: tables.map((table) => ({ table })),
    },
    isEmpty: parameters.length + tables.length === 0,
    pullSegments: () => [
      ...parameters.map((p) => bytesOf(dense[p]![position]!)),
      ...tables.map((t) => routes[t]![position]!.ids),
    ],
    scatter(segment, into) {
      parameters.forEach((p, i) => {
        scatterBlocks(spec.dense[p]!, dense[p]![position]!, floatsIn(segment(i)), into.dense[p]!);
      });
      tables.forEach((t, i) => {
        const rows = floatsIn(segment(parameters.length + i));
        scatterRows(into.sparse[t]!, spec.sparse[t]!.width, routes[t]![position]!.positions, rows);
      });
    },
    pushSegments: (gradients) => [
      ...parameters.flatMap((p) => {
        const blocks = dense[p]![position]!;
        return [bytesOf(blocks), bytesOf(gatherBlocks(spec.dense[p]!, blocks, gradients.dense[p]!, borrow))];
      }),
      ...tables.flatMap((t) => {
        const { ids, positions } = routes[t]![position]!;
        return [ids, bytesOf(gatherRows(gradients.sparse[t]!, spec.sparse[t]!.width, positions, borrow))];
      }),
    ],
    release() {
      for (const memory of borrowed) buffers.release(memory);
      borrowed = [];
    },
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
  allocate: (length: number) => Float32Array,
): Float32Array {
  let total = 0;
  for (const block of blocks) total += blockLength(spec, block);
  if (total === from.length) return from;
  const gathered = allocate(total);
  let at = 0;
  for (const block of blocks) {
    const length = blockLength(spec, block);
    const first = block * denseBlockFloats;
    gathered.set(from.subarray(first, first + length), at);
    at += length;
  }
  return gathered;
}
