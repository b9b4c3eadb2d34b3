/**
 * Sync mode: copies of units take the rounds that their primary has applied, many units at one go and units at several
 * versions one after the other. They have the bits of their primary, and keep them when another pserver leads them.
 */

import { beforeEach, describe, expect, it } from 'vitest';
import { takenBy } from '../../../../../src/cluster/placement/heads.ts';
import { CopiedUnits } from '../../../../../src/roles/pserver/replicas/copied-units.ts';
import { copyShard } from '../../../../../src/roles/pserver/transfer/copy-pieces.ts';
import { IncomingUnit } from '../../../../../src/roles/pserver/transfer/incoming-unit.ts';
import { roundsPieces } from '../../../../../src/roles/pserver/transfer/rounds-pieces.ts';
import { partOf } from '../../../../../src/roles/pserver/update/parts.ts';
import type { RoundUpdate, Update } from '../../../../../src/roles/pserver/update/update.ts';
import { createIdRouter } from '../../../../../src/tensor/id-router.ts';
import { type OptimizerSpec, trainedSpec } from '../../../../../src/tensor/optimizer.ts';
import * as fc from '../../../../properties.ts';
import { MemoryLog } from '../../../../protocol/rig.ts';
import { OPTIMIZERS } from '../../../../tensor/optimizers.ts';
import { anyRound, ROUND_SPEC } from '../../../../tensor/rounds.ts';
import { LANES, PlayedPserver, type PlayedRounds, ROUNDS, SHARDS, undisturbed } from './played.ts';

const UNITS = [0, 1, 2, 3];
/** Each unit has the shard of its number. */
const OF = { spec: ROUND_SPEC, shards: SHARDS, router: createIdRouter({ shards: SHARDS }) };

const shared = (update: Update) => ({ partOf: (units: readonly number[]) => partOf(OF, update, units) });

class Copied {
  readonly primary: PlayedPserver;
  readonly backup: PlayedPserver;
  readonly copies: CopiedUnits;
  readonly #optimizer: OptimizerSpec;
  timeline: number | undefined = 0;

  constructor(optimizer: OptimizerSpec, rounds: PlayedRounds) {
    this.#optimizer = optimizer;
    this.primary = new PlayedPserver(optimizer, rounds);
    this.backup = new PlayedPserver(optimizer, rounds, []);
    const { shards: owned } = this.backup.rig;
    const options = { log: new MemoryLog(), owned, timeline: () => this.timeline };
    this.copies = new CopiedUnits(options);
    this.primary.rig.moves = {
      wait: () => undefined,
      applied: (make, units) => {
        this.#apply(
          make(),
          this.copies.units().filter((unit) => units.includes(unit)),
        );
        return undefined;
      },
    };
  }

  #apply(round: RoundUpdate, units: readonly number[]): void {
    expect(this.copies.apply(units, shared(round))).toEqual([]);
    for (const unit of units) expect(this.copies.rounds(unit)).toEqual(this.primary.rounds.stateOf(unit));
  }

  adopt(unit: number): void {
    const held = this.backup.rig.shards.beside();
    const copy = new IncomingUnit({ held, shards: [unit], timeline: () => this.timeline });
    const { shards } = this.primary.rig;
    const ofRounds = roundsPieces(ROUND_SPEC, this.primary.rounds.stateOf(unit), 64);
    const pieces = copyShard(shards, unit, trainedSpec(ROUND_SPEC, { optimizer: this.#optimizer }), 64, ofRounds);
    for (const [at, piece] of pieces.entries()) copy.put(unit, piece, at === 0, at === pieces.length - 1);
    this.copies.adopt(unit, copy.filled());
  }

  /** The primary is gone. */
  leadAll(): void {
    for (const unit of this.copies.units()) {
      const head = { ...takenBy({ index: 0, token: '7' }, undefined), epoch: 2, led: 2 };
      const rounds = this.copies.rounds(unit)!;
      this.backup.rig.shards.add({ unit, head, modRevision: 2n }, this.copies.positions(unit), true);
      this.copies.release(unit);
      this.backup.rounds.add(unit, rounds);
    }
  }
}

const anyRounds = fc.array(anyRound(ROUND_SPEC, LANES), { minLength: ROUNDS, maxLength: ROUNDS });
const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constant('lane' as const), lane: fc.nat(LANES - 1) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constantFrom('adopt' as const, 'adopt' as const, 'discard' as const, 'part' as const),
      unit: fc.nat(3),
    }),
  },
);

it.each(OPTIMIZERS)('$type: copies have the bits of their primary, and lead with them', (optimizer) =>
  fc.assert(
    fc.asyncProperty(anyRounds, fc.array(anyStep, { maxLength: 40, size: 'max' }), async (rounds, steps) => {
      const expected = await undisturbed(optimizer, rounds);
      const both = new Copied(optimizer, rounds);
      const { primary, backup, copies } = both;
      for (const step of steps) {
        if (step.act === 'lane') {
          if (primary.version < ROUNDS) primary.push(primary.version, step.lane);
        } else if (step.act === 'part') {
          // What it had taken of the round is gone: it takes the round after the others.
          primary.leaveAndReturn(step.unit);
        } else if (copies.units().includes(step.unit)) {
          if (step.act === 'discard') copies.discard(step.unit);
        } else if (step.act === 'adopt') {
          both.adopt(step.unit);
        }
      }
      for (const unit of UNITS) if (!copies.units().includes(unit)) both.adopt(unit);
      both.leadAll();
      for (const at of new Set([backup.rounds.gates.oldest(), backup.version])) {
        for (const [name, value] of await backup.pulled(at)) expect(value).toBe(expected[at]!.pulled.get(name));
      }
      while (backup.version < ROUNDS) backup.pushMissing();
      expect(backup.states()).toEqual(expected[ROUNDS]!.states);
      expect(backup.rounds.metrics()).toEqual(expected[ROUNDS]!.metrics);
    }),
    // A smaller example would take minutes to find.
    { numRuns: 8, endOnFailure: true },
  ),
);

describe('a copy in sync mode', () => {
  const [optimizer] = OPTIMIZERS;
  const noRound = { type: 'round', timeline: 0, round: 0, batches: [], dense: [], sparse: [] } as const;
  const metrics = { records: 1, weight: 1, loss: 0, correct: 0, squaredError: 0 };
  const batch = (push: number) => ({ position: { pass: 0, task: 0, push, last: false, good: push + 1 }, metrics });
  let both: Copied;
  const before = () => UNITS.slice(0, 2).map((unit) => [both.copies.positions(unit), both.copies.rounds(unit)]);

  beforeEach(() => {
    both = new Copied(optimizer!, []);
    both.adopt(0);
    both.adopt(1);
  });

  it.each<[string, Update]>([
    ['of another timeline', { ...noRound, timeline: 1 }],
    ['of another version', { ...noRound, round: 1 }],
    ['with a mini-batch that its ledger does not want', { ...noRound, batches: [batch(1)] }],
    ['with two mini-batches of one task', { ...noRound, batches: [batch(0), batch(0)] }],
    [
      'with gradients that the parameters refuse',
      {
        ...noRound,
        batches: [batch(0)],
        // Block 1 is in shard 0.
        dense: [{ parameter: 1, blocks: Uint32Array.of(1), gradients: new Uint8Array(3) }],
      },
    ],
    ['that is a closure', { type: 'close', tasks: [] }],
  ])('takes nothing of an update %s', (_, update) => {
    const was = before();
    expect(both.copies.apply([0, 1], shared(update))).toEqual([0, 1]);
    expect(before()).toEqual(was);
  });

  it('takes its round when others do not, which have it already', () => {
    expect(both.copies.apply([1], shared(noRound))).toEqual([]);
    expect(both.copies.apply([0, 1], shared(noRound))).toEqual([1]);
    expect(both.copies.rounds(0)).toEqual(both.copies.rounds(1));
  });

  it('takes no round while this pserver goes back to a cut, or when it has gone back, and is kept', () => {
    const before = both.copies.rounds(0);
    both.timeline = undefined;
    expect(both.copies.apply([0, 1], shared(noRound))).toEqual([]);
    both.timeline = 1;
    expect(both.copies.apply([0, 1], shared({ ...noRound, timeline: 1 }))).toEqual([]);
    expect(both.copies.rounds(0)).toEqual(before);
  });

  it('is in a round', () => {
    const positions = both.copies.positions(1);
    both.copies.release(1);
    expect(() => both.copies.adopt(1, { positions, rounds: undefined })).toThrow('in sync mode a copy is in a round');
  });
});
