/** The one place where an update is applied: which shards get it, what it leaves alone, and what it gives back. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Held } from '../../../../src/roles/pserver/held/held.ts';
import type { RoundUpdate, Update } from '../../../../src/roles/pserver/update/update.ts';
import { trainedSpec } from '../../../../src/tensor/optimizer.ts';
import type { Parameters } from '../../../../src/tensor/parameters.ts';
import { shardOfRow } from '../../../../src/tensor/shard-hash.ts';
import { makeParameters, rowsPart, SGD, table } from '../../../tensor/fixture.ts';

const SPEC = table(1);
const SHARDS = 4;
const job = { spec: trainedSpec(SPEC, { optimizer: SGD }), shards: SHARDS, tasks: 2 };
const NONE = { ledgers: new Map(), seqs: new Map() };
/** An id of each shard. */
const IDS = Array.from({ length: SHARDS }, (_, shard) => {
  for (let id = 0n; ; id++) if (shardOfRow(SPEC.sparse[0]!.name, id, SHARDS) === shard) return id;
});

let parameters: Parameters;
let held: Held;

beforeEach(() => {
  parameters = makeParameters({ spec: SPEC, optimizer: SGD, shards: SHARDS });
  held = new Held(job, { parameters });
  held.hold([0, 1, 2], NONE);
});

const position = (push: number) => ({ pass: 0, task: 0, push, last: false, good: push + 1 });
/** With a gradient of 1 for a row of each of `rows`. */
const gradients = (rows: readonly number[]) => {
  const ids = rows.map((shard) => IDS[shard]!);
  return {
    dense: [],
    sparse: [
      rowsPart(
        0,
        ids,
        ids.map(() => 1),
      ),
    ],
  };
};
const push = (number: number, shards: readonly number[], rows = shards): Update => ({
  ...{ type: 'push', push: position(number), shards, rateScale: 1 },
  ...gradients(rows),
});
const round = (number: number, rows: readonly number[]): RoundUpdate => ({
  ...{ type: 'round', timeline: 0, round: number },
  batches: [{ position: position(number), metrics: { records: 1, weight: 1, loss: 0, correct: 0, squaredError: 0 } }],
  ...gradients(rows),
});
const rowsIn = (shard: number): number => parameters.exportRows(shard, 0).ids.length;
const seqs = (): (number | undefined)[] => [0, 1, 2, 3].map((shard) => held.seqOf(shard));

describe('an update', () => {
  it('changes values, ledgers and positions of the shards that apply it, and of no other', () => {
    held.apply(push(0, [0, 2]));
    expect([0, 1, 2, 3].map(rowsIn)).toEqual([1, 0, 1, 0]);
    expect(seqs()).toEqual([1, 0, 1, undefined]);
    expect(held.whyUnfit(push(0, [1]))).toBeUndefined();
    expect(held.whyUnfit(push(0, [0, 1, 2]))).toContain('does not fit');
  });

  it('with a row of a shard that is held and does not apply it leaves that row alone', () => {
    held.apply(push(0, [0], [0, 1]));
    expect([0, 1].map(rowsIn)).toEqual([1, 0]);
  });

  it('with a row of a shard that is not held is refused, and changes nothing', () => {
    expect(() => held.apply(push(0, [0, 1, 2], [0, 3]))).toThrow(expect.objectContaining({ code: 'WrongShard' }));
    expect(() => held.check(gradients([3]))).toThrow(expect.objectContaining({ code: 'WrongShard' }));
    expect([0, 1, 2, 3].map(rowsIn)).toEqual([0, 0, 0, 0]);
    expect(seqs()).toEqual([0, 0, 0, undefined]);
    expect(held.whyUnfit(push(0, [0, 1, 2]))).toBeUndefined();
  });

  it('is applied with the rate that its primary has decided', () => {
    const valueAfter = (number: number, rateScale: number): number => {
      held.apply({ ...push(number, [0, 1, 2], [0]), rateScale } as Update);
      return parameters.exportRows(0, 0).values[0]!;
    };
    const [first, second] = [valueAfter(0, 1), valueAfter(1, 0.5)];
    expect(second).toBeCloseTo(first - 0.25, 6);
  });

  it('of no shard changes nothing', () => {
    held.apply(push(0, [], [0]));
    expect(rowsIn(0)).toBe(0);
    expect(seqs()).toEqual([0, 0, 0, undefined]);
  });

  it('of a shard that comes or goes is refused or taken from then on', () => {
    held.letGo([2]);
    expect(held.whyUnfit(push(0, [0, 1]))).toBeUndefined();
    expect(() => held.check(gradients([2]))).toThrow(expect.objectContaining({ code: 'WrongShard' }));
    held.hold([3], { ledgers: new Map(), seqs: new Map([[3, 7]]) });
    held.apply(push(0, [0, 1, 3]));
    expect(seqs()).toEqual([1, 1, undefined, 8]);
  });
});

describe('a round', () => {
  it('gives the values that it changed, as they were before', () => {
    const first = held.apply(round(0, [0, 1]))!;
    const second = held.apply(round(1, [0]))!;
    const [before, after] = [first, second].map(({ sparse }) => new Float32Array(sparse[0]!.values.buffer)[0]!);
    expect(after).toBeCloseTo(before! - 0.5, 6);
    expect(seqs()).toEqual([2, 2, 2, undefined]);
  });

  it('is applied to some shards before the others, with the rate of its number', () => {
    held = new Held({ ...job, rateShareOf: (number) => (number === 0 ? 0.5 : 1) }, { parameters });
    held.hold([0, 1], NONE);
    const { values: initial } = held.apply(round(0, [0]), [0])!.sparse[0]!;
    const { values: next } = held.apply(round(1, [0]), [0])!.sparse[0]!;
    const [at0, at1] = [initial, next].map((bytes) => new Float32Array(bytes.buffer)[0]!);
    expect(at1).toBeCloseTo(at0! - 0.25, 6);
    expect(held.whyUnfit(round(0, [1]), [1])).toBeUndefined();
    expect(held.whyUnfit(round(0, [1]))).toContain('does not fit');
  });
});

it('is beside another one in the same memory, with shards and ledgers of its own', () => {
  const other = held.beside();
  other.hold([3], NONE);
  other.apply(push(0, [3]));
  expect(rowsIn(3)).toBe(1);
  expect(held.seqOf(3)).toBeUndefined();
  expect(() => other.check(gradients([0]))).toThrow(expect.objectContaining({ code: 'WrongShard' }));
});
