/**
 * Warm start, second half: a pserver that holds shards for which there is no state yet reads from the planned files
 * what belongs to them. The other job may have had another number of shards: rows and blocks are then hashed again.
 * Memory: one piece of rows; what is not ours is read over.
 */
import type { Storage } from '../../base/seams.ts';
import { HIGHEST_SEEN, LOADING_EXCESS } from '../../tensor/admission/admission.ts';
import { blockShards } from '../../tensor/blocks.ts';
import { freshState } from '../../tensor/fresh-state.ts';
import type { OptimizerSpec, TrainedSpec } from '../../tensor/optimizer.ts';
import type { DenseBlock, ParameterMemory, ShardRows } from '../../tensor/parameters.ts';
import { placeOf, rowBytes, storedTable } from '../../tensor/stored-tables.ts';
import { corrupt } from '../file/files.ts';
import { readBlock } from '../file/reader.ts';
import { createRowBuffers, VALUES_ONLY } from '../file/row-pieces.ts';
import { damagedTensors } from '../file/scan.ts';
import { type CheckpointSet, openCheckpointSet } from '../set/checkpoint-set.ts';
import { piecesOf } from '../set/shard-rows.ts';
import type { WarmPlan } from './warm-plan.ts';

const PIECE_BYTES = 4 * 1024 * 1024;

export interface WarmLoadOptions {
  readonly storage: Storage;
  readonly plan: WarmPlan;
  readonly spec: TrainedSpec;
  /** Number of shards of the new job. */
  readonly shardCount: number;
  /** Shards that are present and at their initial values. */
  readonly shards: readonly number[];
  readonly into: ParameterMemory;
}

type Kind = WarmPlan['loaded'][number]['kind'];

/** What went into these shards: blocks of a dense parameter, rows or candidates of a table. */
export interface WarmLoaded {
  readonly name: string;
  readonly kind: Kind;
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Throws `CheckpointMissing` before anything is loaded, `CheckpointCorrupt` when the files are no longer what was
 * planned, and `OutOfMemory`.
 */
export async function loadWarmStart(options: WarmLoadOptions): Promise<WarmLoaded[]> {
  const { storage, plan, spec } = options;
  const set = await openCheckpointSet(storage, plan.files);
  try {
    expectPlanned(set, plan);
    await expectSound(set, options);
    const loaded: WarmLoaded[] = [];
    for (const { name, kind } of plan.loaded)
      loaded.push(
        kind === 'dense' ? await loadDense(set, name, options) : await loadTable(set, { name, kind }, options),
      );
    // Nothing is seen in this job yet. Until now, `seen` was what the bounds kept the most recent ones by.
    if (spec.sparse.some(({ hasSeen }) => hasSeen))
      for (const shard of options.shards) options.into.lowerSeen(shard, HIGHEST_SEEN);
    return loaded;
  } finally {
    await set.close();
  }
}

function expectPlanned(set: CheckpointSet, plan: WarmPlan): void {
  for (const { uuid, bytes, path } of plan.files) {
    const part = set.parts.find(({ reader }) => reader.facts.uuid === uuid);
    if (part?.reader.source.bytes !== bytes || part.reader.facts.jobId !== plan.jobId) {
      throw corrupt(path, 'not the file that the warm start was planned with');
    }
  }
  if (set.missing.length > 0) throw corrupt(plan.from, 'shards are missing that the files had');
}

/**
 * Checks the files that are read from by their checksums. They were checked when the job was published; damage since
 * then must not come into the model unnoticed.
 */
async function expectSound(set: CheckpointSet, { shardCount, shards }: WarmLoadOptions): Promise<void> {
  const mine = new Set(shards);
  for (const part of set.parts) {
    if (set.facts.shards === shardCount && !part.shards.some((shard) => mine.has(shard))) continue;
    const damaged = await damagedTensors(part.reader.source);
    if (damaged.length > 0) throw corrupt(part.path, `damaged: ${damaged.join(', ')}`);
  }
}

interface WarmTable {
  readonly name: string;
  readonly kind: 'sparse' | 'candidates';
}

async function loadTable(set: CheckpointSet, { name, kind }: WarmTable, options: WarmLoadOptions): Promise<WarmLoaded> {
  const { plan, spec, shardCount, shards, into } = options;
  const { facts } = set;
  const place = placeOf(spec, kind, name);
  const { width, layout } = storedTable(spec.sparse, place)!;
  const model = spec.sparse.findIndex((one) => one.name === name);
  const { optimizer, shardBytes } = spec.sparse[model]!;
  const source = placeOf(facts.parameters, kind, name);
  const seen = shardBytes !== undefined && storedTable(facts.parameters.sparse, source)!.layout.seen;
  const isWhole = kind === 'candidates' || plan.optimizerState;
  const state = isWhole ? { ...layout, seen } : { ...VALUES_ONLY, seen };
  const buffers = createRowBuffers(width, state, PIECE_BYTES);
  const mine = new Set(shards);
  // With as many shards there as here, a shard's rows are those of the shard of the same number.
  const isOurs = (shard: number): boolean => facts.shards !== shardCount || mine.has(shard);
  // All rows of a piece may belong to one shard, which must not exceed its bound by much.
  const sliceBytes = (shardBytes ?? Number.POSITIVE_INFINITY) * LOADING_EXCESS;
  const sliceRows = Math.max(1, Math.floor(sliceBytes / rowBytes(width, layout)));
  const keepMostRecent = (isLoading: boolean): void => {
    if (shardBytes !== undefined) for (const own of shards) into.keepMostRecent(own, model, isLoading);
  };
  for (const one of set.shards.filter(({ shard }) => isOurs(shard))) {
    for await (const piece of piecesOf(one, source, buffers)) {
      const whole = isWhole ? piece : { ...fresh(optimizer, piece), seen: piece.seen };
      for (let from = 0; from < piece.ids.length; from += sliceRows) {
        into.adoptRows(place, rowsBetween(whole, from, from + sliceRows), shards);
        keepMostRecent(true);
      }
    }
  }
  keepMostRecent(false);
  const rows = shards.reduce((sum, shard) => sum + into.rowsOf(shard, place), 0);
  const kept = kind === 'candidates' ? layout : { ...state, seen: false };
  return { name, kind, rows, bytes: rows * rowBytes(width, kept) };
}

/** Rows [from, to), or up to the last. */
function rowsBetween({ ids, values, slots, steps, seen }: ShardRows, from: number, to: number): ShardRows {
  const width = values.length / ids.length;
  const floats = (array: Float32Array): Float32Array => array.subarray(from * width, to * width);
  return {
    ids: ids.subarray(from, to),
    values: floats(values),
    slots: Object.fromEntries(Object.entries(slots).map(([slot, array]) => [slot, floats(array)])),
    steps: steps?.subarray(from, to),
    seen: seen?.subarray(from, to),
  };
}

function fresh(optimizer: OptimizerSpec, { ids, values }: ShardRows): ShardRows {
  const { slots, step } = freshState(optimizer, values);
  return { ids, values, slots, steps: step === undefined ? undefined : new Uint32Array(ids.length) };
}

async function loadDense(set: CheckpointSet, name: string, options: WarmLoadOptions): Promise<WarmLoaded> {
  const { plan, spec, shardCount, shards, into } = options;
  const parameter = spec.dense.findIndex((one) => one.name === name);
  const source = set.facts.parameters.dense.findIndex((one) => one.name === name);
  const { optimizer } = spec.dense[parameter]!;
  const shardOf = blockShards(spec.dense[parameter]!, shardCount);
  const mine = new Set(shards);
  let blocks = 0;
  let bytes = 0;
  for (const { blocksIn: reader, shard } of set.shards) {
    for (const place of await reader.blockPlaces(shard, source)) {
      const owner = shardOf[place.block];
      if (owner === undefined) throw corrupt(reader.path, `${name}: block ${place.block} of ${shardOf.length}`);
      if (!mine.has(owner)) continue;
      const read = await readBlock(reader.source, place);
      const block: DenseBlock = plan.optimizerState ? read : { ...read, ...freshState(optimizer, read.values) };
      into.importBlock(owner, { ...block, parameter });
      blocks += 1;
      bytes += block.values.byteLength;
      if (!plan.optimizerState) continue;
      for (const slot of Object.values(block.slots)) bytes += slot.byteLength;
      if (block.step !== undefined) bytes += 4;
    }
  }
  return { name, kind: 'dense', rows: blocks, bytes };
}
