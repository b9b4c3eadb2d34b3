/**
 * Units of one pserver at different rounds, as after one of them has come from another pserver (DESIGN §7): the bits
 * are those of units that were together all the time.
 */
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { blockShards } from '../../../../src/tensor/blocks.ts';
import type { Parameters } from '../../../../src/tensor/parameters.ts';
import { everything, HIGHEST, makeParameters } from '../../../tensor/fixture.ts';
import { OPTIMIZERS } from '../../../tensor/optimizers.ts';
import { anyRound, hexOf, laneFor, type PlainLane, ROUND_SPEC } from '../../../tensor/rounds.ts';
import { RoundsRig } from './rounds-rig.ts';

const SHARDS = 4;
const HELD = [0, 1, 2, 3];
const LANES = 3;
const ROUNDS = 4;
const EMPTY: PlainLane = { records: 0, dense: [], sparse: [] };
const FILE = { uuid: '6f8d2c1a-0000-4000-8000-00000000000a', md5: 'a'.repeat(32), bytes: 5, rows: 1, positions: [] };

/** Ids that rounds touch, and some that none does. */
const IDS = [...Array.from({ length: 34 }, (_, id) => BigInt(id)), HIGHEST, 2n ** 63n];
const WANTED = {
  blocks: ROUND_SPEC.dense.map((spec) => [...blockShards(spec, SHARDS).keys()]),
  ids: ROUND_SPEC.sparse.map(() => IDS),
};

/** A pserver, and what its trainers push. */
class Played {
  readonly rig: RoundsRig;
  readonly parameters: Parameters;
  readonly #rounds: readonly (readonly PlainLane[])[];

  constructor(optimizer: (typeof OPTIMIZERS)[number], rounds: readonly (readonly PlainLane[])[]) {
    this.#rounds = rounds;
    this.parameters = makeParameters({ spec: ROUND_SPEC, optimizer, seed: 3, shards: SHARDS, present: HELD });
    const { parameters } = this;
    this.rig = new RoundsRig({ spec: ROUND_SPEC, parameters, held: HELD, shards: SHARDS, lanes: LANES, tasks: LANES });
  }

  get rounds() {
    return this.rig.rounds;
  }

  get version(): number {
    return this.rounds.gates.version();
  }

  push(round: number, lane: number): 'taken' | 'duplicate' {
    const of = (at: number): PlainLane => this.#rounds[at]?.[lane] ?? EMPTY;
    const good = Array.from({ length: round + 1 }, (_, at) => of(at).records).reduce((sum, some) => sum + some, 0);
    const { records } = of(round);
    const header = {
      ...{ round, lane, metrics: { records, loss: records / 7, correct: records, squaredError: records / 3 } },
      batch: { pass: round < 2 ? 0 : 1, task: lane, push: round % 2, last: round % 2 === 1, good },
    };
    if (round >= 2) header.batch.good -= of(0).records + of(1).records;
    return this.rig.push(header, laneFor(ROUND_SPEC, of(round), { shards: SHARDS, held: HELD }));
  }

  /** Completes the round. */
  pushMissing(): void {
    const { version } = this;
    for (const lane of this.rounds.gates.missing()) if (this.version === version) this.push(version, lane);
    expect(this.version).toBe(version + 1);
  }

  /** As to another pserver and back: what was taken of the round is gone. */
  move(unit: number): void {
    const state = this.rounds.stateOf(unit);
    this.rounds.remove(unit);
    this.rounds.add(unit, state);
  }

  async pulled(version: number): Promise<string[]> {
    return (await this.rig.pull(version, WANTED, { maxWaitMs: 0 })).map(hexOf);
  }

  /** All that there is. */
  state(): unknown {
    return {
      values: everything(this.parameters, ROUND_SPEC.sparse.length),
      moments: HELD.map((shard) => this.rig.shards.momentOf(shard)),
      account: this.rig.ledger.account(),
      metrics: this.rounds.metrics(),
    };
  }
}

interface Undisturbed {
  readonly states: readonly unknown[];
  readonly pulls: readonly (readonly string[])[];
}

/** By version. */
async function undisturbed(played: Played): Promise<Undisturbed> {
  const states: unknown[] = [];
  const pulls: (readonly string[])[] = [];
  for (let version = 0; ; version++) {
    states.push(played.state());
    pulls.push(await played.pulled(version));
    if (version === ROUNDS) return { states, pulls };
    played.pushMissing();
  }
}

const anyStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ lane: fc.nat(LANES - 1) }) },
  { weight: 2, arbitrary: fc.record({ unit: fc.nat(SHARDS - 1) }) },
);
const anyRounds = fc.array(anyRound(ROUND_SPEC, LANES), { minLength: ROUNDS, maxLength: ROUNDS });

it.each(OPTIMIZERS)('$type: whenever units move, each version has the bits that it has without', (optimizer) =>
  fc.assert(
    fc.asyncProperty(anyRounds, fc.array(anyStep, { maxLength: 50, size: 'max' }), async (rounds, steps) => {
      const expected = await undisturbed(new Played(optimizer, rounds));
      const played = new Played(optimizer, rounds);
      const { gates } = played.rounds;
      for (const step of steps) {
        if ('unit' in step) played.move(step.unit);
        else if (played.version < ROUNDS) played.push(played.version, step.lane);
        for (let version = gates.oldest(); version <= played.version; version++) {
          expect(await played.pulled(version)).toEqual(expected.pulls[version]);
        }
        expect(played.rounds.metrics()).toEqual((expected.states[played.version] as { metrics: unknown }).metrics);
      }
      while (played.version < ROUNDS) played.pushMissing();
      expect(played.state()).toEqual(expected.states[ROUNDS]);
      expect([gates.groups().length, played.rig.ledger.groups()]).toEqual([1, 1]);
      expect(played.rig.failures).toEqual([]);
    }),
    { numRuns: 6 },
  ),
);

const lane = (records: number): PlainLane => ({
  records,
  dense: ROUND_SPEC.dense.map(({ shape }) => new Float32Array(shape[0]!).fill(records)),
  sparse: ROUND_SPEC.sparse.map(({ width }) => new Map(IDS.map((id) => [id, new Float32Array(width).fill(records)]))),
});
const PLAIN = Array.from({ length: ROUNDS }, (_, round) =>
  Array.from({ length: LANES }, (_, at) => lane(round + at + 1)),
);
const played = (): Played => new Played(OPTIMIZERS[0]!, PLAIN);

/** Unit 2 has lost lane 0 of round 0, and the others are past that round. */
function apart(): Played {
  const one = played();
  one.push(0, 0);
  one.move(2);
  for (const number of [1, 2]) one.push(0, number);
  return one;
}

it('a lane goes to the units that lack it, and changes nothing in the others', async () => {
  const expected = await undisturbed(played());
  const one = apart();
  expect([one.rounds.gates.version(), one.rounds.gates.highest()]).toEqual([0, 1]);
  expect((await one.rig.position()).header).toMatchObject({ version: 0, oldest: 0, missing: [0] });
  expect(() => one.push(1, 0)).toThrow(expect.objectContaining({ code: 'RoundAhead' }));
  // From the pre-image of those that are past it.
  expect(await one.pulled(0)).toEqual(expected.pulls[0]);
  await expect(one.pulled(1)).rejects.toMatchObject({ code: 'VersionPending', details: { version: 0, missing: [0] } });
  expect(one.push(0, 1)).toBe('duplicate');
  expect(one.push(0, 0)).toBe('taken');
  expect(one.state()).toEqual(expected.states[1]);
  expect(await one.pulled(0)).toEqual(expected.pulls[0]);
});

it('two trainers that count the records of a lane differently are noticed, though units lack it', () => {
  const one = played();
  one.push(0, 0);
  one.move(2);
  const other = laneFor(ROUND_SPEC, lane(5), { shards: SHARDS, held: HELD });
  const batch = { pass: 0, task: 0, push: 0, last: false, good: 5 };
  expect(() => one.rig.push({ round: 0, lane: 0, batch }, other)).toThrow(
    expect.objectContaining({ code: 'WrongCounts' }),
  );
  expect(one.rig.failures).toHaveLength(1);
});

it('a cut begins when all units are at its round, and not before', async () => {
  const expected = await undisturbed(played());
  const one = apart();
  const cutting = one.rig.cut(1);
  await one.rig.clock.advance(0);
  expect(one.rig.saves).toEqual([]);
  one.push(0, 0);
  const [save] = one.rig.saves;
  expect(save!.source).toMatchObject({ shards: HELD, rounds: { round: 1 } });
  expect(save!.source.rounds.metrics).toEqual((expected.states[1] as { metrics: unknown }).metrics);
  expect(HELD.map((shard) => save!.source.momentOf(shard).seq)).toEqual([1, 1, 1, 1]);
  save!.end.resolve(FILE);
  expect(await cutting).toMatchObject({ outcome: 'saved' });
});

it('a cut of a round that a unit is past is declined, also while others have yet to reach it', async () => {
  const one = apart();
  expect(await one.rig.cut(0)).toEqual({ type: 'cut', outcome: 'declined', version: 1 });
  const waiting = one.rig.cut(1);
  const { metrics } = one.rounds.stateOf(0);
  // A unit comes that is past it.
  one.rounds.remove(3);
  one.rounds.add(3, { version: 2, previous: undefined, metrics });
  expect(await waiting).toMatchObject({ outcome: 'declined' });
  expect(one.rig.saves).toEqual([]);
});

it('a cut is saved again for a shard that came after its file was begun', async () => {
  const one = played();
  const { shards } = one.rig;
  const fewer = vi.spyOn(shards, 'numbers', 'get').mockReturnValue([0, 1, 3]);
  const first = one.rig.cut(0);
  fewer.mockRestore();
  const second = one.rig.cut(0);
  expect(one.rig.saves.map(({ source }) => source.shards)).toEqual([[0, 1, 3], HELD]);
  for (const { end } of one.rig.saves) end.resolve(FILE);
  expect([await first, await second]).toMatchObject([{ outcome: 'saved' }, { outcome: 'saved' }]);
});

it('what waits for a version is refused when a unit comes or goes: the answer would be of other units', async () => {
  const one = apart();
  const refused = { code: 'StalePlacement' };
  const pulling = expect(one.rig.pull(1)).rejects.toMatchObject(refused);
  const asking = expect(one.rig.position(0)).rejects.toMatchObject(refused);
  const { stamp } = one.rig.shards;
  vi.spyOn(one.rig.shards, 'stamp', 'get').mockReturnValue({ ...stamp, shards: stamp.shards - 1 });
  // The unit that all wait for has gone.
  one.rounds.remove(2);
  await pulling;
  await asking;
});

it('what a unit takes along has its old values only', () => {
  const one = apart();
  expect(one.rounds.stateOf(2)).toMatchObject({ version: 0, previous: undefined, metrics: [] });
  const parts = [0, 1, 3].map((unit) => one.rounds.stateOf(unit));
  const ids = parts.flatMap(({ previous }) => previous!.sparse[0]!.ids.byteLength / 8);
  const blocks = parts.flatMap(({ previous }) => previous!.dense.flatMap((part) => [...part.blocks]));
  const gone = everything(one.parameters, 1) as { shard: number; blocks: unknown[] }[];
  expect(blocks).toHaveLength(3 - gone[2]!.blocks.length);
  expect(ids.reduce((sum, some) => sum + some, 0)).toBeLessThan(IDS.length);
  expect(parts.every(({ version }) => version === 1)).toBe(true);
});
