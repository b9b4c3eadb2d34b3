/**
 * Sync mode, where units have copies: the sum of a round is an update, and each unit is a version further when its
 * copies have it. The bits are those of a pserver without copies.
 */

import { beforeEach, describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../../src/base/errors.ts';
import type { RoundsOptions } from '../../../../../src/roles/pserver/modes/rounds/rounds.ts';
import type { PlaceRequest, PlacingOutcome } from '../../../../../src/roles/pserver/replicas/placing.ts';
import { TaskTurns } from '../../../../../src/roles/pserver/replicas/task-turns.ts';
import type { RoundUpdate } from '../../../../../src/roles/pserver/update/update.ts';
import { createIdRouter } from '../../../../../src/tensor/id-router.ts';
import { OPTIMIZERS } from '../../../../tensor/optimizers.ts';
import { type PlainLane, ROUND_SPEC } from '../../../../tensor/rounds.ts';
import { ALL, type AtVersion, IDS, LANES, PlayedPserver, ROUNDS, SHARDS, undisturbed } from './played.ts';

const [optimizer] = OPTIMIZERS;
const lane = (records: number): PlainLane => ({
  records,
  dense: ROUND_SPEC.dense.map(({ shape }) => new Float32Array(shape[0]!).fill(records)),
  sparse: ROUND_SPEC.sparse.map(({ width }) => new Map(IDS.map((id) => [id, new Float32Array(width).fill(records)]))),
});
const PLAIN = Array.from({ length: ROUNDS }, (_, round) =>
  Array.from({ length: LANES }, (_, at) => lane(round + at + 1)),
);

const settled = (): Promise<void> => new Promise(setImmediate);

/** What is placed is decided by the test. */
class Copies {
  readonly placed: (PlaceRequest & PromiseWithResolvers<PlacingOutcome>)[] = [];
  /** Of the spec that sizes are counted by. */
  width: number | undefined;
  waiting: PromiseWithResolvers<void> | undefined;
  #order = 0;

  get replicas(): NonNullable<RoundsOptions['replicas']> {
    const spec = {
      ...ROUND_SPEC,
      sparse: ROUND_SPEC.sparse.map((one) => ({ ...one, width: this.width ?? one.width })),
    };
    const of = { shards: SHARDS, units: SHARDS, router: createIdRouter({ shards: SHARDS }) };
    return {
      job: { ...of, spec: spec as never, tasks: LANES, passes: 2 },
      wait: () => this.waiting?.promise,
      placing: {
        place: (request) => {
          const decision = Promise.withResolvers<PlacingOutcome>();
          this.placed.push({ ...request, ...decision });
          return decision.promise;
        },
        turns: new TaskTurns(),
        counted: 0,
        nextOrder: () => 0,
      },
    };
  }

  get units(): (readonly number[])[] {
    return this.placed.map(({ payload }) => payload.units);
  }

  /** Of the newest one, in these units: all copies have it. */
  commit(pserver: PlayedPserver, units: readonly number[]): void {
    const { payload, make } = this.placed.at(-1)!;
    if (payload.order === 0) payload.placed(++this.#order, make());
    pserver.rounds.commit(units, payload.partOf(units) as RoundUpdate);
  }

  async end(outcome: PlacingOutcome): Promise<void> {
    this.placed.at(-1)!.resolve(outcome);
    await settled();
  }
}

let copies: Copies;
let one: PlayedPserver;
let expected: AtVersion[];

beforeEach(async () => {
  copies = new Copies();
  one = new PlayedPserver(optimizer!, PLAIN, ALL, SHARDS, copies.replicas);
  expected = await undisturbed(optimizer!, PLAIN);
});

function pushAll(round: number): void {
  for (let number = 0; number < LANES; number++) one.push(round, number);
}

describe('where units have copies', () => {
  it('a round with all lanes is placed once, and changes nothing before copies have it', async () => {
    pushAll(0);
    expect(copies.units).toEqual([ALL]);
    expect([one.version, one.rounds.gates.highest(), one.rounds.gates.missing()]).toEqual([0, 0, []]);
    expect(one.states()).toEqual(expected[0]!.states);
    expect(one.push(0, 1)).toBe('duplicate');
    expect(() => one.push(1, 0)).toThrow(/round 1/);
    await expect(one.pulled(1)).rejects.toMatchObject({ code: 'VersionPending' });
    expect(await one.pulled(0)).toEqual(expected[0]!.pulled);
  });

  it('each unit is a version further when its copies have the sum', async () => {
    pushAll(0);
    copies.commit(one, [0, 2]);
    expect([one.version, one.rounds.gates.highest()]).toEqual([0, 1]);
    expect([0, 1].map((unit) => one.rounds.stateOf(unit).version)).toEqual([1, 0]);
    expect(await one.pulled(0)).toEqual(expected[0]!.pulled);
    expect(one.rounds.metrics()).toEqual(expected[0]!.metrics);
    expect(() => one.push(1, 0)).toThrow(/round 1/);
    copies.commit(one, [1, 3]);
    expect([one.version, one.rounds.gates.groups().length, one.rig.ledger.groups()]).toEqual([1, 1, 1]);
    expect(one.states()).toEqual(expected[1]!.states);
    expect(one.rounds.metrics()).toEqual(expected[1]!.metrics);
    for (const version of [0, 1]) expect(await one.pulled(version)).toEqual(expected[version]!.pulled);
  });

  it('all rounds have the bits that they have without copies', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      pushAll(round);
      for (const units of round % 2 === 0 ? [[3], [0, 1], [2]] : [ALL]) copies.commit(one, units);
      await copies.end('committed');
      expect(one.states()).toEqual(expected[round + 1]!.states);
    }
    expect(one.rig.failures).toEqual([]);
  });

  it('what is dropped is placed again, without the units that have it', async () => {
    pushAll(0);
    copies.commit(one, [0]);
    await copies.end('failed');
    expect(copies.units).toEqual([ALL, [1, 2, 3]]);
    await copies.end('failed');
    copies.commit(one, [1, 2, 3]);
    await copies.end('committed');
    expect(copies.units).toHaveLength(3);
    expect(one.states()).toEqual(expected[1]!.states);
  });

  it('a unit that has left gets no sum, and its lanes again when it returns', async () => {
    pushAll(0);
    one.leaveAndReturn(1);
    expect(copies.placed[0]!.isCurrent()).toBe(false);
    pushAll(0);
    expect(copies.units).toEqual([ALL, [1]]);
    copies.placed[0]!.resolve('again');
    await settled();
    expect(copies.units).toEqual([ALL, [1], [0, 2, 3]]);
  });

  it('nothing is placed once the rounds are frozen', async () => {
    pushAll(0);
    one.rig.isFrozen = true;
    expect(copies.placed[0]!.isCurrent()).toBe(false);
    await copies.end('again');
    expect(copies.placed).toHaveLength(1);
  });

  it('a sum waits until each unit has as many copies as it must have', async () => {
    copies.waiting = Promise.withResolvers();
    pushAll(0);
    await settled();
    expect(copies.placed).toEqual([]);
    const { resolve } = copies.waiting;
    copies.waiting = undefined;
    resolve();
    await settled();
    expect(copies.units).toEqual([ALL]);
  });

  it('a cut is saved when all units have committed its round', async () => {
    const cut = one.rig.cut(1);
    pushAll(0);
    copies.commit(one, [0, 1]);
    expect(one.rig.saves).toEqual([]);
    copies.commit(one, [2, 3]);
    expect(one.rig.saves.map(({ source }) => source.rounds)).toEqual([{ round: 1, metrics: expected[1]!.metrics }]);
    one.rig.saves[0]!.end.reject(new PaddletError('CheckpointNotWritten', 'no room'));
    await expect(cut).rejects.toMatchObject({ code: 'CheckpointNotWritten' });
  });

  it('the end of this process is no failure of the job, and everything else is', async () => {
    pushAll(0);
    copies.placed[0]!.reject(new PaddletError('Suspended', 'this pserver no longer answers'));
    await settled();
    expect(one.rig.failures).toEqual([]);
    const other = new PlayedPserver(optimizer!, PLAIN, ALL, SHARDS, copies.replicas);
    for (let number = 0; number < LANES; number++) other.push(0, number);
    copies.placed.at(-1)!.reject(new PaddletError('FrameTooLarge', 'too large'));
    await settled();
    expect(other.rig.failures).toMatchObject([{ code: 'FrameTooLarge' }]);
  });

  it('a sum that is too large for one frame is placed by units', () => {
    copies.width = 2_500_000;
    const large = new PlayedPserver(optimizer!, PLAIN, ALL, SHARDS, copies.replicas);
    for (let number = 0; number < LANES; number++) large.push(0, number);
    expect(copies.units.length).toBeGreaterThan(1);
    expect(copies.units.flat()).toEqual(ALL);
    expect(large.rig.failures).toEqual([]);
  });
});
