/**
 * Units of one pserver at different rounds, as after one of them has come from another pserver (docs/copies.md): the
 * bits are those of units that were together all the time.
 */

import { expect, it, vi } from 'vitest';
import * as fc from '../../../../properties.ts';
import { everything } from '../../../../tensor/fixture.ts';
import { OPTIMIZERS } from '../../../../tensor/optimizers.ts';
import { anyRound, laneFor, type PlainLane, ROUND_SPEC } from '../../../../tensor/rounds.ts';
import { ALL, IDS, LANES, moveUnit, PlayedPserver, ROUNDS, SHARDS, undisturbed } from './played.ts';

const FILE = { uuid: '6f8d2c1a-0000-4000-8000-00000000000a', md5: 'a'.repeat(32), bytes: 5, rows: 1, positions: [] };
const anyRounds = fc.array(anyRound(ROUND_SPEC, LANES), { minLength: ROUNDS, maxLength: ROUNDS });
const anyStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ lane: fc.nat(LANES - 1), to: fc.constantFrom([0], [1], [0, 1]) }) },
  { weight: 2, arbitrary: fc.record({ unit: fc.nat(SHARDS - 1) }) },
);

it.each(OPTIMIZERS)('$type: whenever units move, each version has the bits that it has without', (optimizer) =>
  fc.assert(
    fc.asyncProperty(anyRounds, fc.array(anyStep, { maxLength: 50, size: 'max' }), async (rounds, steps) => {
      const expected = await undisturbed(optimizer, rounds);
      const pservers = [new PlayedPserver(optimizer, rounds), new PlayedPserver(optimizer, rounds, [])];
      const leading = (): PlayedPserver[] => pservers.filter(({ held }) => held.length > 0);
      const version = (): number => Math.min(...leading().map((one) => one.version));
      let epoch = 1;
      for (const step of steps) {
        if ('unit' in step) {
          const [from, to] = pservers[0]!.held.includes(step.unit) ? [0, 1] : [1, 0];
          moveUnit(pservers[from]!, pservers[to]!, step.unit, ++epoch);
        } else if (version() < ROUNDS) {
          const round = version();
          for (const at of step.to) if (leading().includes(pservers[at]!)) pservers[at]!.push(round, step.lane);
        }
        const oldest = Math.max(...leading().map(({ rounds: { gates } }) => gates.oldest()));
        for (const pserver of leading()) {
          for (let at = oldest; at <= pserver.version; at++) {
            for (const [name, value] of await pserver.pulled(at)) expect(value).toBe(expected[at]!.pulled.get(name));
          }
          expect(pserver.rounds.metrics()).toEqual(expected[pserver.version]!.metrics);
        }
      }
      for (let round = version(); round < ROUNDS; round++) {
        for (const pserver of leading()) if (pserver.version === round) pserver.pushMissing();
      }
      const states = new Map([...pservers[0]!.states(), ...pservers[1]!.states()]);
      expect(new Map([...states].sort(([a], [b]) => a - b))).toEqual(expected[ROUNDS]!.states);
      for (const { rounds: played, rig } of leading()) {
        expect([played.gates.groups().length, rig.ledger.groups(), rig.failures]).toEqual([1, 1, []]);
      }
    }),
    // A smaller example would take minutes to find.
    { numRuns: 8, endOnFailure: true },
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
const played = (): PlayedPserver => new PlayedPserver(OPTIMIZERS[0]!, PLAIN);
const expectedVersions = () => undisturbed(OPTIMIZERS[0]!, PLAIN);

/** Unit 2 has lost lane 0 of round 0, and the others are past that round. */
function apart(): PlayedPserver {
  const one = played();
  one.push(0, 0);
  one.leaveAndReturn(2);
  for (const number of [1, 2]) one.push(0, number);
  return one;
}

it('a lane goes to the units that lack it, and changes nothing in the others', async () => {
  const expected = await expectedVersions();
  const one = apart();
  expect([one.rounds.gates.version(), one.rounds.gates.highest()]).toEqual([0, 1]);
  expect((await one.rig.position()).header).toMatchObject({ version: 0, oldest: 0, missing: [0] });
  expect(() => one.push(1, 0)).toThrow(expect.objectContaining({ code: 'RoundAhead' }));
  // From the pre-image of those that are past it.
  expect(await one.pulled(0)).toEqual(expected[0]!.pulled);
  await expect(one.pulled(1)).rejects.toMatchObject({ code: 'VersionPending', details: { version: 0, missing: [0] } });
  expect(one.push(0, 1)).toBe('duplicate');
  expect(one.push(0, 0)).toBe('taken');
  expect(one.states()).toEqual(expected[1]!.states);
  expect(await one.pulled(0)).toEqual(expected[0]!.pulled);
});

it('two trainers that count the records of a lane differently are noticed, though units lack it', () => {
  const one = played();
  one.push(0, 0);
  one.leaveAndReturn(2);
  const other = laneFor(ROUND_SPEC, lane(5), { shards: SHARDS, held: ALL });
  const batch = { pass: 0, task: 0, push: 0, last: false, good: 5 };
  expect(() => one.rig.push({ round: 0, lane: 0, batch }, other)).toThrow(
    expect.objectContaining({ code: 'WrongCounts' }),
  );
  expect(one.rig.failures).toHaveLength(1);
});

it('a cut begins when all units are at its round, and not before', async () => {
  const expected = await expectedVersions();
  const one = apart();
  const cutting = one.rig.cut(1);
  await one.rig.clock.advance(0);
  expect(one.rig.saves).toEqual([]);
  one.push(0, 0);
  const [save] = one.rig.saves;
  expect(save!.source).toMatchObject({ shards: ALL, rounds: { round: 1 } });
  expect(save!.source.rounds.metrics).toEqual(expected[1]!.metrics);
  expect(ALL.map((shard) => save!.source.momentOf(shard).seq)).toEqual([1, 1, 1, 1]);
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
  expect(one.rig.saves.map(({ source }) => source.shards)).toEqual([[0, 1, 3], ALL]);
  for (const { end } of one.rig.saves) end.resolve(FILE);
  expect([await first, await second]).toMatchObject([{ outcome: 'saved' }, { outcome: 'saved' }]);
});

it('what waits for a version is refused when a unit comes or goes: the answer would be of other units', async () => {
  const one = apart();
  const refused = { code: 'StalePlacement' };
  const pulling = expect(one.rig.pull(1)).rejects.toMatchObject(refused);
  const asking = expect(one.rig.position(0)).rejects.toMatchObject(refused);
  const saving = expect(one.rig.cut(1)).rejects.toMatchObject(refused);
  const { stamp } = one.rig.shards;
  vi.spyOn(one.rig.shards, 'stamp', 'get').mockReturnValue({ ...stamp, shards: stamp.shards - 1 });
  // The unit that all wait for has gone.
  one.rounds.remove(2);
  await pulling;
  await asking;
  await saving;
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

it('units are told apart by the round that they are at, whatever lanes they have of it', () => {
  const one = apart();
  expect(one.rounds.byRound()).toMatchObject([
    { units: [2], rounds: { round: 0, metrics: [] } },
    { units: [0, 1, 3], rounds: { round: 1, metrics: [{ pass: 0 }, { version: 1 }] } },
  ]);
  one.push(0, 0);
  one.push(1, 0);
  one.leaveAndReturn(3);
  expect(one.rounds.gates.groups()).toHaveLength(2);
  expect(one.rounds.byRound()).toMatchObject([{ units: ALL, rounds: { round: 1 } }]);
});
