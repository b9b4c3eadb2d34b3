import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../src/base/limits.ts';
import { type Parameters, SHARD_ACTION } from '../../src/tensor/parameters.ts';
import { applyAll, everything, makeParameters, pullRows, rowsPart, table } from './fixture.ts';

const WIDTH = 2;
const COUNT = 600;
const IDS = Array.from({ length: COUNT }, (_, id) => BigInt(7 * id));
const SPEC = table(WIDTH, { type: 'zeros' });

const gradients = (from: number): Float32Array => Float32Array.from({ length: COUNT * WIDTH }, (_, i) => from + i / 8);
const push = (to: Parameters, from: number, ids = IDS, actions = applyAll()): void =>
  to.push([rowsPart(0, ids, gradients(from))], [], actions);
const pull = (from: Parameters): Float32Array => pullRows(from, 0, IDS, WIDTH);
const make = (): Parameters =>
  makeParameters({ spec: SPEC, recallsPulls: true, optimizer: { type: 'adagrad', ...RATES } });
const RATES = { learningRate: 0.1, l2: 0, epsilon: 1e-7, initialAccumulator: 0.1 };

/** What the same pushes give when none of them was pulled before. */
function pushed(...all: readonly ((to: Parameters) => void)[]): unknown {
  const parameters = make();
  for (const one of all) one(parameters);
  return everything(parameters, 1);
}

describe('a push of ids that were pulled', () => {
  test('of rows that are there, that are new, and some of both', () => {
    const parameters = make();
    pull(parameters);
    push(parameters, 1);
    pull(parameters);
    push(parameters, 2);
    const some = IDS.map((id, at) => (at % 3 === 0 ? id + 1n : id));
    pullRows(parameters, 0, some, WIDTH);
    push(parameters, 3, some);
    const plain = [1, 2].map((from) => (to: Parameters) => push(to, from));
    expect(everything(parameters, 1)).toEqual(pushed(...plain, (to) => push(to, 3, some)));
  });

  test('of rows that another push has made since', () => {
    const parameters = make();
    pull(parameters);
    push(parameters, 1, [...IDS].reverse());
    push(parameters, 2);
    expect(everything(parameters, 1)).toEqual(
      pushed(
        (to) => push(to, 1, [...IDS].reverse()),
        (to) => push(to, 2),
      ),
    );
  });

  test('of other ids, or in another order', () => {
    const parameters = make();
    push(parameters, 3);
    pull(parameters);
    const others = [...IDS.slice(0, -1), 5n];
    push(parameters, 1, others);
    push(parameters, 2, [...IDS.slice(1), IDS[0]!]);
    expect(everything(parameters, 1)).toEqual(
      pushed(
        (to) => push(to, 3),
        (to) => push(to, 1, others),
        (to) => push(to, 2, [...IDS.slice(1), IDS[0]!]),
      ),
    );
  });

  test('after a shard was dropped and came back', () => {
    const parameters = make();
    push(parameters, 1);
    pull(parameters);
    parameters.dropShard(3);
    parameters.addShard(3);
    push(parameters, 2);
    const dropped = (to: Parameters): void => {
      to.dropShard(3);
      to.addShard(3);
    };
    expect(everything(parameters, 1)).toEqual(
      pushed(
        (to) => push(to, 1),
        dropped,
        (to) => push(to, 2),
      ),
    );
  });

  test('of which one shard has it already', () => {
    const actions = applyAll();
    actions[2] = SHARD_ACTION.skip;
    const parameters = make();
    push(parameters, 1);
    pull(parameters);
    push(parameters, 2, IDS, actions);
    expect(everything(parameters, 1)).toEqual(
      pushed(
        (to) => push(to, 1),
        (to) => push(to, 2, IDS, actions),
      ),
    );
  });

  test('with an id that is repeated is refused', () => {
    const parameters = make();
    const twice = [...IDS.slice(1), IDS[9]!];
    pullRows(parameters, 0, twice, WIDTH);
    expect(() => push(parameters, 1, twice)).toThrow('is repeated');
  });
});

test('pulls that are never pushed take no more memory than their bound', () => {
  const parameters = make();
  const many = Array.from({ length: 20_000 }, (_, id) => BigInt(id));
  pullRows(parameters, 0, many, WIDTH);
  const before = parameters.stats().reservedBytes;
  const pulls = Math.ceil((3 * LIMITS.pulledRowsBytes) / (12 * many.length));
  for (let i = 0; i < pulls; i++) pullRows(parameters, 0, many, WIDTH);
  expect(parameters.stats().reservedBytes - before).toBeLessThan(2 * LIMITS.pulledRowsBytes);
});
