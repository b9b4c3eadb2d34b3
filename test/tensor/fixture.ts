/** Short ways to make parameters and to look into them. */
import { blockCount } from '../../src/tensor/blocks.ts';
import { type OptimizerSpec, type TrainingChoice, trainedSpec } from '../../src/tensor/optimizer.ts';
import type { DensePart, ParameterMemory, Parameters, SparsePart } from '../../src/tensor/parameters.ts';
import { SHARD_ACTION } from '../../src/tensor/parameters.ts';
import type { DenseSpec, ParameterSpec } from '../../src/tensor/spec.ts';
import { createParameters, type WasmParametersOptions } from '../../src/tensor/wasm-parameters.ts';

export const SGD: OptimizerSpec = { type: 'sgd', learningRate: 0.5, l2: 0 };
export const NORMAL = { type: 'normal', mean: 0, stddev: 1 } as const;
export const HIGHEST = 2n ** 64n - 1n;

/** Parameters with all their shards present, unless `present` says which. */
export function makeParameters(
  options: Partial<Omit<WasmParametersOptions, 'spec'> & TrainingChoice> & {
    spec: ParameterSpec;
    present?: readonly number[];
  },
): Parameters {
  const { present, spec, ...rest } = options;
  const all = { optimizer: SGD, seed: 1, shards: 8, ...rest };
  const parameters = createParameters({ ...all, spec: trainedSpec(spec, all) });
  for (const shard of present ?? Array.from({ length: all.shards }, (_, i) => i)) parameters.addShard(shard);
  return parameters;
}

export const table = (
  width: number,
  initializer: ParameterSpec['sparse'][number]['initializer'] = NORMAL,
): ParameterSpec => ({
  dense: [],
  sparse: [{ name: 'rows', width, initializer }],
});

export const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

export const idBytes = (ids: readonly bigint[]): Uint8Array => bytesOf(BigUint64Array.from(ids));

export const bits = (floats: ArrayLike<number>): number[] => [...new Uint32Array(Float32Array.from(floats).buffer)];

export const applyAll = (shards = 8): Uint8Array => new Uint8Array(shards).fill(SHARD_ACTION.apply);

export function rowsPart(tableIndex: number, ids: readonly bigint[], gradients: ArrayLike<number>): SparsePart {
  return { table: tableIndex, ids: idBytes(ids), gradients: bytesOf(Float32Array.from(gradients)) };
}

export function blocksPart(parameter: number, blocks: readonly number[], gradients: Float32Array): DensePart {
  return { parameter, blocks: Uint32Array.from(blocks), gradients: bytesOf(gradients) };
}

export function pullRows(
  parameters: Pick<Parameters, 'pullSparse'>,
  tableIndex: number,
  ids: readonly bigint[],
  width: number,
): Float32Array {
  const values = new Float32Array(ids.length * width);
  parameters.pullSparse(tableIndex, idBytes(ids), bytesOf(values));
  return values;
}

export function pullWhole(parameters: Parameters, index: number, spec: DenseSpec): Float32Array {
  const values = new Float32Array(spec.shape.reduce((product, size) => product * size, 1));
  const blocks = Uint32Array.from({ length: blockCount(spec) }, (_, block) => block);
  parameters.pullDense(index, blocks, bytesOf(values));
  return values;
}

const hex = (array: ArrayBufferView): string =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('hex');

/** Everything there is, for comparing: rows and blocks of every present shard, with their state, as bits. */
export function everything(parameters: ParameterMemory, tables: number): unknown {
  return parameters.shards().map((shard) => ({
    shard,
    blocks: parameters.exportBlocks(shard).map(({ values, slots, ...rest }) => ({
      ...rest,
      values: hex(values),
      slots: Object.entries(slots).map(([name, slot]) => [name, hex(slot)]),
    })),
    tables: Array.from({ length: tables }, (_, index) => {
      const { ids, values, slots, steps } = parameters.exportRows(shard, index);
      return {
        ids: [...ids],
        values: hex(values),
        slots: Object.entries(slots).map(([name, slot]) => [name, hex(slot)]),
        steps: steps === undefined ? undefined : hex(steps),
      };
    }),
  }));
}
