import { expect, test } from 'vitest';
import { lookRulesOf } from '../../../src/cluster/job/look-rules.ts';
import type { Job } from '../../../src/job/schema.ts';
import { trainedSpec } from '../../../src/tensor/optimizer.ts';
import type { ParameterSpec } from '../../../src/tensor/spec.ts';
import { SGD } from '../../tensor/fixture.ts';

const zeros = { type: 'zeros' } as const;
const SPEC: ParameterSpec = {
  dense: [],
  sparse: ['a', 'b', 'c'].map((name) => ({ name, width: 1, initializer: zeros })),
};
const rulesFor = (tables: Job['tables']) => {
  const job = { optimizer: SGD, tables, cluster: { shards: 8 } } as unknown as Job;
  return lookRulesOf(job, trainedSpec(SPEC, job));
};

test('each table has its own eviction, in the order of the model', () => {
  expect(rulesFor({ c: { eviction: { unseenUpdates: 9 } }, a: { eviction: { unseenPasses: 2 } } })).toEqual({
    ...{ shards: 8, seenRange: 2 ** 32, spread: 64 },
    evictions: [{ unseenPasses: 2 }, undefined, { unseenUpdates: 9 }],
  });
});

test('a bound alone needs a `seen`; admission alone does not', () => {
  expect(rulesFor({ b: { maxBytes: 8000 } })?.evictions).toEqual([undefined, undefined, undefined]);
  expect(rulesFor({ b: { admission: { type: 'count', min: 2 } } })).toBeUndefined();
  expect(rulesFor({})).toBeUndefined();
});
