/** The state of values that were never updated is what the kernels begin with. */
import { describe, expect, it } from 'vitest';
import { freshState } from '../../src/tensor/fresh-state.ts';
import { trainedSpec } from '../../src/tensor/optimizer.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import { createParameters } from '../../src/tensor/wasm-parameters.ts';
import { OPTIMIZERS } from './optimizers.ts';

const spec: ParameterSpec = {
  dense: [
    { name: 'spread', shape: [40, 5], initializer: { type: 'uniform', low: -1, high: 1 } },
    { name: 'zero', shape: [7], initializer: { type: 'zeros' } },
  ],
  sparse: [],
};

describe.each(OPTIMIZERS.map((optimizer) => [optimizer.type, optimizer] as const))('%s', (_type, optimizer) => {
  it('starts as in the kernels, bit for bit', () => {
    const parameters = createParameters({ spec: trainedSpec(spec, { optimizer }), seed: 3, shards: 1 });
    parameters.addShard(0);
    const blocks = parameters.exportBlocks(0);
    expect(blocks).toHaveLength(2);
    for (const { values, slots, step } of blocks) {
      const fresh = freshState(optimizer, values);
      expect(fresh.step).toBe(step);
      expect(Object.keys(fresh.slots)).toEqual(Object.keys(slots));
      for (const [name, slot] of Object.entries(slots)) {
        expect(new Uint32Array(fresh.slots[name]!.buffer), name).toEqual(new Uint32Array(slot.buffer));
      }
    }
  });
});
