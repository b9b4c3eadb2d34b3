/** Pulls from parameters in the memory of this process. */
import type { PulledValues } from '../../model/model.ts';
import { blockCount, elementCount } from '../../tensor/blocks.ts';
import type { IdList } from '../../tensor/id-router.ts';
import type { ParameterMemory } from '../../tensor/parameters.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { ParameterClient } from './parameter-client.ts';

export interface LocalPulls extends Pick<ParameterClient, 'pull'> {
  /** Those of `ids` that training has met, in their order. `table`: index into the sparse tables of the model. */
  knownIds(table: number, ids: BigUint64Array): BigUint64Array;
}

export const localPulls = (parameters: ParameterMemory, spec: ParameterSpec): LocalPulls => ({
  pull: async (ids) => pullLocally(parameters, spec, ids),
  knownIds: (table, ids) => parameters.existingIds(table, ids),
});

function pullLocally(parameters: ParameterMemory, spec: ParameterSpec, idsOf: readonly IdList[]): PulledValues {
  const dense = spec.dense.map((one, parameter) => {
    const values = new Float32Array(elementCount(one));
    const blocks = Uint32Array.from({ length: blockCount(one) }, (_, block) => block);
    parameters.pullDense(parameter, blocks, new Uint8Array(values.buffer));
    return values;
  });
  const sparse = spec.sparse.map(({ width }, table) => {
    const { ids, count } = idsOf[table]!;
    const values = new Float32Array(count * width);
    parameters.pullSparse(table, ids.subarray(0, count * 8), new Uint8Array(values.buffer));
    return values;
  });
  return { dense, sparse };
}
