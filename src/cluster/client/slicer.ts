/**
 * Cuts pulls and pushes into one slice for each pserver of a placement: dense blocks by a plan kept for each placement,
 * ids by their route. Makes the segments of the requests, and scatters pulled values to where they belong.
 */
import { PaddletError } from '../../base/errors.ts';
import type { PulledValues } from '../../model/model.ts';
import type { Received } from '../../protocol/messages/channel.ts';
import { type ArrayMemory, memoryOf } from '../../tensor/array-memory.ts';
import { blockLength, blockShards, denseBlockFloats } from '../../tensor/blocks.ts';
import { gatherRows, scatterRows } from '../../tensor/gather-rows.ts';
import type { IdList, IdRouter, Route } from '../../tensor/id-router.ts';
import type { DenseSpec, ParameterSpec } from '../../tensor/spec.ts';
import type { Placement } from '../placement/placement-view.ts';
import { type BufferPool, createBufferPool, createPulledValuesPool } from './buffer-pool.ts';

export interface GradientArrays {
  readonly dense: readonly Float32Array[];
  readonly sparse: readonly Float32Array[];
}

export type Answer = Pick<Received<unknown>, 'segmentCount' | 'segment'>;

/** The part of a pull or push that goes to one pserver. */
export interface PserverSlice {
  /** Header fields that describe the segments. */
  readonly fields: {
    readonly dense: { parameter: number }[];
    readonly sparse: { table: number }[];
  };
  readonly isEmpty: boolean;
  /** Adds them to `into`, and returns that. */
  pullSegments(into?: Uint8Array[]): Uint8Array[];
  /** Adds the segments of the tables alone. */
  rowSegments(into: Uint8Array[]): void;
  /**
   * Copies the segments of the answer to a pull to where they belong in `into`; returns how many they are.
   * `BadMessage`: these are not those. `wanted`: of the whole answer, when it has others after those of this slice.
   */
  scatter(answer: Answer, into: PulledValues, wanted?: number): number;
  /** The same of the tables alone, whose segments begin with that one. Returns the one after them. */
  scatterRows(answer: Answer, into: PulledValues, first: number): number;
  pushSegments(gradients: GradientArrays): Uint8Array[];
  /** Ends the use of the slice, and of every request that was made from it. */
  release(): void;
}

/** Ids and dense blocks as they go to the pservers of one placement: made once for a pull and the push after it. */
export interface RoutedIds {
  /** Indexed by table. */
  readonly ids: readonly IdList[];
  /** Version of the placement. */
  readonly version: number;
  /** Indexed by position in the placement. */
  readonly slices: readonly PserverSlice[];
  /** Ends the use of what was made from it: its memory is used again. */
  release(): void;
}

export interface Slicer {
  /** `ids`: by table. */
  route(placement: Placement, ids: readonly IdList[]): RoutedIds;
  /**
   * Arrays for all values of these ids, with arbitrary content: the slices together fill them. `dense`: those of
   * another list, which are to serve this one, too.
   */
  allocate(ids: readonly IdList[], dense?: PulledValues['dense']): PulledValues;
  /** Takes back values to which nothing refers. */
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
  /** Where pulled values are put. */
  readonly memory?: ArrayMemory | undefined;
}): Slicer {
  const { spec, shards, router } = options;
  const valuesPool = createPulledValuesPool(spec, options.memory);
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
  function routeAll(placement: Placement, ids: readonly IdList[]): (Route | undefined)[][] {
    const allocate = (byteLength: number): Uint8Array => bytesOf(buffers.acquire(Math.ceil(byteLength / 4)));
    return spec.sparse.map(({ name }, table) => {
      const list = ids[table]!;
      const byPosition: (Route | undefined)[] = placement.pservers.map(() => undefined);
      const routes = router.route(name, list.ids, list.count, placement.primaryOf, allocate);
      for (const route of routes) byPosition[route.pserver] = route;
      return byPosition;
    });
  }

  return {
    route(placement, ids) {
      const source = { spec, buffers, dense: densePlan(placement), routes: routeAll(placement, ids) };
      const slices = placement.pservers.map((_, position) => new Slice(source, position));
      const release = (): void => {
        for (const slice of slices) slice.release();
      };
      return { ids, version: placement.version, slices, release };
    },
    allocate: (ids, dense) =>
      valuesPool.acquire(
        ids.map(({ count }) => count),
        dense,
      ),
    recycle: (values) => valuesPool.release(values),
  };
}

interface SliceSource {
  readonly spec: ParameterSpec;
  readonly buffers: BufferPool;
  readonly dense: DensePlan;
  /** For each table, the routes by position in the placement. */
  readonly routes: readonly (readonly (Route | undefined)[])[];
}

/** A plain loop for each of its parts: a small mini-batch has several slices, and little else to do. */
class Slice implements PserverSlice {
  readonly fields: PserverSlice['fields'] = { dense: [], sparse: [] };
  readonly #source: SliceSource;
  readonly #position: number;
  #borrowed: ArrayBufferLike[] = [];

  constructor(source: SliceSource, position: number) {
    this.#source = source;
    this.#position = position;
    const { dense, routes } = source;
    for (let p = 0; p < dense.length; p++) {
      if (dense[p]![position]!.length > 0) this.fields.dense.push({ parameter: p });
    }
    for (let t = 0; t < routes.length; t++) {
      const route = routes[t]![position];
      if (route === undefined) continue;
      this.fields.sparse.push({ table: t });
      this.#borrowed.push(route.ids.buffer, route.positions.buffer);
    }
  }

  get isEmpty(): boolean {
    return this.fields.dense.length + this.fields.sparse.length === 0;
  }

  pullSegments(into: Uint8Array[] = []): Uint8Array[] {
    for (const { parameter } of this.fields.dense) into.push(bytesOf(this.#blocks(parameter)));
    this.rowSegments(into);
    return into;
  }

  rowSegments(into: Uint8Array[]): void {
    for (const { table } of this.fields.sparse) into.push(this.#route(table).ids);
  }

  pushSegments(gradients: GradientArrays): Uint8Array[] {
    const { spec } = this.#source;
    const into: Uint8Array[] = [];
    for (const { parameter: p } of this.fields.dense) {
      const blocks = this.#blocks(p);
      const gathered = gatherBlocks(spec.dense[p]!, blocks, gradients.dense[p]!, this.#borrow);
      into.push(bytesOf(blocks), bytesOf(gathered));
    }
    for (const { table: t } of this.fields.sparse) {
      const { ids, positions } = this.#route(t);
      into.push(ids, bytesOf(gatherRows(gradients.sparse[t]!, spec.sparse[t]!.width, positions, this.#borrow)));
    }
    return into;
  }

  scatter(answer: Answer, into: PulledValues, wanted = this.fields.dense.length + this.fields.sparse.length): number {
    const { spec } = this.#source;
    const { dense } = this.fields;
    if (answer.segmentCount !== wanted) throw badAnswer(`expected ${wanted} segments, got ${answer.segmentCount}`);
    let index = 0;
    for (const { parameter: p } of dense) {
      const blocks = this.#blocks(p);
      scatterBlocks(
        spec.dense[p]!,
        blocks,
        floatsIn(answer, index++, floatsOf(spec.dense[p]!, blocks)),
        into.dense[p]!,
      );
    }
    return this.scatterRows(answer, into, index);
  }

  scatterRows(answer: Answer, into: PulledValues, first: number): number {
    let index = first;
    for (const { table: t } of this.fields.sparse) {
      const { width } = this.#source.spec.sparse[t]!;
      const { positions } = this.#route(t);
      scatterRows(into.sparse[t]!, width, positions, floatsIn(answer, index++, positions.length * width));
    }
    return index;
  }

  release(): void {
    for (const memory of this.#borrowed) this.#source.buffers.release(memory);
    this.#borrowed = [];
  }

  #blocks(parameter: number): Uint32Array {
    return this.#source.dense[parameter]![this.#position]!;
  }

  #route(table: number): Route {
    return this.#source.routes[table]![this.#position]!;
  }

  readonly #borrow = (length: number): Float32Array => {
    const array = this.#source.buffers.acquire(length);
    this.#borrowed.push(array.buffer);
    return array;
  };
}

const bytesOf = (array: Uint32Array | Float32Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** Segments are aligned to 8 bytes (docs/protocol.md), so this is a view. */
function floatsIn(answer: Answer, index: number, length: number): Float32Array {
  const bytes = answer.segment(index);
  if (bytes.byteLength !== length * 4)
    throw badAnswer(`expected ${length} values in segment ${index}, got ${bytes.byteLength / 4}`);
  return new Float32Array(bytes.buffer, bytes.byteOffset, length);
}

const badAnswer = (why: string): PaddletError =>
  new PaddletError('BadMessage', `the answer to a pull is malformed: ${why}`);

const floatsOf = (spec: DenseSpec, blocks: Uint32Array): number =>
  blocks.reduce((sum, block) => sum + blockLength(spec, block), 0);

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
  const total = floatsOf(spec, blocks);
  // What is sent is never in the model's memory: a request that was given up may be on its way when that is used again.
  if (total === from.length && memoryOf(from) === undefined) return from;
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
