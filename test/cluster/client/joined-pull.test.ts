/** Several lists in one pull: each gets the values of its rows, and the dense ones are shared. */
import { expect, test } from 'vitest';
import { JoinedPull } from '../../../src/cluster/client/joined-pull.ts';
import { createSlicer } from '../../../src/cluster/client/slicer.ts';
import { ArrayMemory } from '../../../src/tensor/array-memory.ts';
import { createIdRouter, type IdList } from '../../../src/tensor/id-router.ts';
import type { ParameterSpec } from '../../../src/tensor/spec.ts';
import { placedAt, placementOf, SHARDS } from './placed.ts';

const SPEC: ParameterSpec = {
  dense: [{ name: 'bias', shape: [3], initializer: { type: 'zeros' } }],
  sparse: [{ name: 'w', width: 2, initializer: { type: 'zeros' } }],
};
const PLACEMENT = placementOf(placedAt(0, [0, 1, 2, 3]), placedAt(1, [4, 5, 6, 7]));

const listOf = (...ids: number[]): [IdList] => [
  { ids: new Uint8Array(BigUint64Array.from(ids, BigInt).buffer), count: ids.length },
];

/** As a pserver answers: each dense value is 0.5, a row is its id twice. */
function answerTo(pull: JoinedPull) {
  const asked = pull.segments();
  const floats = asked.map((segment, i) => {
    if (i < pull.fields.dense.length) return Float32Array.of(0.5, 0.5, 0.5);
    const ids = [...new BigUint64Array(segment.slice().buffer)].map(Number);
    return Float32Array.from(ids.flatMap((id) => [id, id]));
  });
  return floats.map((array) => new Uint8Array(array.buffer));
}

const replyOf = (segments: readonly Uint8Array[]) => ({
  segmentCount: segments.length,
  segment: (index: number) => segments[index]!,
});

test('lists of which a pserver has rows of all, of some or of none', () => {
  const memory = new ArrayMemory();
  const slicer = createSlicer({ spec: SPEC, shards: SHARDS, router: createIdRouter({ shards: SHARDS }), memory });
  const wanted = [[1], [1, 2, 3, 4, 5, 6, 7, 8, 9], [2], [9, 3]];
  const lists = wanted.map((ids) => slicer.route(PLACEMENT, listOf(...ids)));
  const first = slicer.allocate(listOf(...wanted[0]!));
  const values = [first, ...wanted.slice(1).map((ids) => slicer.allocate(listOf(...ids), first.dense))];
  const pulls = PLACEMENT.pservers.map((_, at) => new JoinedPull(lists.map(({ slices }) => slices[at]!)));
  // Otherwise the lists do not show what they are to show.
  expect(new Set(pulls.map(({ fields }) => fields.sparse.length)).size).toBe(2);
  for (const pull of pulls) {
    const answer = answerTo(pull);
    pull.scatter(replyOf(answer), values);
    expect(() => pull.scatter(replyOf(answer.slice(1)), values)).toThrow('segments');
    expect(() => pull.scatter(replyOf([...answer, answer[0]!]), values)).toThrow('segments');
  }
  expect(values.map(({ sparse: [rows] }) => [...rows!])).toEqual(wanted.map((ids) => ids.flatMap((id) => [id, id])));
  for (const { dense } of values) expect(dense).toBe(first.dense);
  expect([...first.dense[0]!]).toEqual([0.5, 0.5, 0.5]);
});
