/** Checks that a file's tensors are those of its metadata, with the right types and shapes, before anything is read. */
import { LIMITS } from '../../base/limits.ts';
import { type OptimizerLayout, optimizerLayout } from '../../tensor/optimizer.ts';
import { storedTables } from '../../tensor/stored-tables.ts';
import { corrupt } from './files.ts';
import { type FileFacts, slotField, TENSORS, tensorName } from './format.ts';
import { type LookTensors, lookTensorsOf } from './looks.ts';
import type { TensorInfo } from './safetensors/header.ts';
import { expectTensor, type Safetensors, tensorLength } from './safetensors/reader.ts';

/** The rows of a stored table in one extent. */
export interface SparseTensors {
  readonly rows: TensorInfo;
  readonly ids: TensorInfo;
  /** `NOTHING` for candidates. */
  readonly values: TensorInfo;
  readonly slots: Readonly<Record<string, TensorInfo>>;
  readonly steps: TensorInfo | undefined;
  readonly seen: TensorInfo | undefined;
}

/** Ids of a table that were removed since the parents of the shards. */
export type GoneTensors = Pick<SparseTensors, 'rows' | 'ids'>;

/** Stands for a tensor without elements. */
export const NOTHING: TensorInfo = { name: 'none', dtype: 'F32', shape: [0], begin: 0, end: 0 };

/** A dense parameter's blocks in one extent. */
export interface DenseTensors {
  readonly starts: TensorInfo;
  readonly blocks: TensorInfo;
  readonly shards: TensorInfo;
  readonly values: TensorInfo;
  readonly slots: Readonly<Record<string, TensorInfo>>;
  readonly steps: TensorInfo | undefined;
}

export interface ExtentTensors {
  readonly number: number;
  readonly shards: TensorInfo;
  readonly shardCount: number;
  readonly ledgerStarts: TensorInfo;
  /** Undefined when all ledgers are empty. */
  readonly ledgers: TensorInfo | undefined;
  /** Undefined if rows have no `seen`. */
  readonly looks: LookTensors | undefined;
  /** Undefined if the file is not a delta. */
  readonly parents: TensorInfo | undefined;
  /** By table of the model; undefined if the extent has no removed ids of the table. */
  readonly gone: readonly (GoneTensors | undefined)[];
  /** By stored table; undefined where the extent has no rows of it. */
  readonly sparse: readonly (SparseTensors | undefined)[];
  /** By dense parameter; undefined where the extent has no block of it. */
  readonly dense: readonly (DenseTensors | undefined)[];
}

/** Throws `CheckpointCorrupt` for a tensor that is missing, misshapen, or not of this format. */
export function layoutOf(source: Safetensors, facts: FileFacts): ExtentTensors[] {
  const used = new Set<string>([TENSORS.checksums]);
  const expect: Expect = (name, dtype, shape) => {
    used.add(name);
    return expectTensor(source, name, dtype, shape);
  };
  const extents: ExtentTensors[] = [];
  let shards = 0;
  for (let number = 0; number < facts.extents; number++) {
    const extent = extentOf(source, facts, number, expect);
    shards += extent.shardCount;
    extents.push(extent);
    for (const tensor of [extent.ledgers, extent.looks?.looks, extent.looks?.begins])
      if (tensor !== undefined) used.add(tensor.name);
  }
  if (shards !== facts.shardsHere) throw corrupt(source.name, `expected ${facts.shardsHere} shards, got ${shards}`);
  for (const name of source.tensors.keys()) {
    if (!used.has(name)) throw corrupt(source.name, `tensor ${name} is not part of this format`);
  }
  return extents;
}

type Expect = (name: string, dtype: TensorInfo['dtype'], shape: readonly number[]) => TensorInfo;

function extentOf(source: Safetensors, facts: FileFacts, number: number, expect: Expect): ExtentTensors {
  const { parameters } = facts;
  const sizeOf = (name: string): number => source.tensors.get(name)?.shape[0] ?? 0;
  const shardCount = sizeOf(TENSORS.shards(number));
  const ledgerCount = sizeOf(TENSORS.ledgerStarts(number)) - 1;
  if (shardCount < 1 || shardCount > LIMITS.shards)
    throw corrupt(source.name, `extent ${number}: ${shardCount} shards`);
  if (ledgerCount < 1 || ledgerCount > LIMITS.shards)
    throw corrupt(source.name, `extent ${number}: ${ledgerCount} ledgers`);
  const ledgers = source.tensors.get(TENSORS.ledgers(number));
  if (ledgers !== undefined) expectTensor(source, ledgers.name, 'U8', [tensorLength(ledgers)]);
  return {
    number,
    shards: expect(TENSORS.shards(number), 'U64', [shardCount, 4]),
    shardCount,
    ledgerStarts: expect(TENSORS.ledgerStarts(number), 'U64', [ledgerCount + 1]),
    ledgers,
    looks: lookTensorsOf(source, number, { shardCount, tables: parameters.sparse }),
    parents: facts.kind === 'delta' ? expect(TENSORS.parents(number), 'U64', [shardCount, 2]) : undefined,
    gone: parameters.sparse.map(({ name }) => {
      const at = (field: string): string => tensorName('gone', name, field, number);
      if (facts.kind !== 'delta' || !source.tensors.has(at('rows'))) return undefined;
      const ids = expect(at('ids'), 'U64', [sizeOf(at('ids'))]);
      return { rows: expect(at('rows'), 'U64', [shardCount + 1]), ids };
    }),
    sparse: storedTables(parameters.sparse).map(({ kind, name, width, layout }) => {
      const at = (field: string): string => tensorName(kind, name, field, number);
      if (!source.tensors.has(at('rows'))) return undefined;
      const rows = sizeOf(at('ids'));
      return {
        rows: expect(at('rows'), 'U64', [shardCount + 1]),
        ids: expect(at('ids'), 'U64', [rows]),
        ...valuesOf(layout, at, expect, { values: [rows, width], count: rows }),
        seen: layout.seen ? expect(at('seen'), 'U32', [rows]) : undefined,
      };
    }),
    dense: parameters.dense.map(({ name, optimizer }) => {
      const at = (field: string): string => tensorName('dense', name, field, number);
      if (!source.tensors.has(at('blocks'))) return undefined;
      const blocks = sizeOf(at('blocks'));
      if (blocks > LIMITS.denseBlocks)
        throw corrupt(source.name, `${at('blocks')}: expected at most ${LIMITS.denseBlocks} blocks, got ${blocks}`);
      return {
        starts: expect(at('starts'), 'U64', [blocks + 1]),
        blocks: expect(at('blocks'), 'U32', [blocks]),
        shards: expect(at('shards'), 'U32', [blocks]),
        ...valuesOf(optimizerLayout(optimizer), at, expect, { values: [sizeOf(at('values'))], count: blocks }),
      };
    }),
  };
}

function valuesOf(
  state: OptimizerLayout,
  at: (field: string) => string,
  expect: Expect,
  shape: { readonly values: readonly number[]; readonly count: number },
): Pick<SparseTensors, 'values' | 'slots' | 'steps'> {
  const slots = state.slots.map((slot) => [slot, expect(at(slotField(slot)), 'F32', shape.values)] as const);
  return {
    values: shape.values[1] === 0 ? NOTHING : expect(at('values'), 'F32', shape.values),
    slots: Object.fromEntries(slots),
    steps: state.steps ? expect(at('steps'), 'U32', [shape.count]) : undefined,
  };
}
