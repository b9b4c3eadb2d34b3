/** A pull is small and its answer may not be: what no frame can hold is refused before memory is found for it. */
import { expect, it } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import { type PullRequest, readValues } from '../../../../src/roles/pserver/requests/request-parts.ts';
import type { ParameterSpec } from '../../../../src/tensor/spec.ts';

const WIDTH = LIMITS.rowWidth;
const SPEC = {
  dense: [{ name: 'W', shape: [16_384] }],
  sparse: [{ name: 'v', width: WIDTH }],
} as unknown as ParameterSpec;

/** Ids and blocks are all 0: a pull may repeat them. */
function pullOf(blocks: number[], ids: number[]) {
  const allocated: number[] = [];
  const segments = [
    ...blocks.map((count) => new Uint8Array(4 * count)),
    ...ids.map((count) => new Uint8Array(8 * count)),
  ];
  const request = {
    header: {
      type: 'pull',
      dense: blocks.map(() => ({ parameter: 0 })),
      sparse: ids.map(() => ({ table: 0 })),
    },
    segmentCount: segments.length,
    segment: (index: number) => segments[index]!,
    answerMemory: (byteLength: number) => {
      allocated.push(byteLength);
      return new Uint8Array(0);
    },
  } as unknown as PullRequest;
  const read = () => readValues(SPEC, { pullDense: () => {}, pullSparse: () => {} }, request);
  return { read, allocated };
}

const ROWS = Math.floor(LIMITS.frameBytes / (4 * WIDTH));
const BLOCKS = LIMITS.frameBytes / (4 * 16_384);

it('finds memory for an answer that a frame can hold', () => {
  const { read, allocated } = pullOf([1], [ROWS - 2, 1]);
  expect(read()).toHaveLength(3);
  expect(allocated).toEqual([4 * 16_384, 4 * WIDTH * (ROWS - 2), 4 * WIDTH]);
});

it.each<[string, number[], number[]]>([
  ['rows', [], [ROWS + 1]],
  ['rows of several parts', [], [ROWS - 1, 2]],
  ['blocks', [BLOCKS + 1], []],
  ['blocks and rows', [BLOCKS / 2 + 1], [ROWS / 2]],
  ['rows of more bytes than a machine has', [], [2 ** 24]],
])('finds no memory for %s', (_, blocks, ids) => {
  const { read, allocated } = pullOf(blocks, ids);
  expect(read).toThrow(expect.objectContaining({ code: 'FrameTooLarge' }));
  expect(allocated).toEqual([]);
});
