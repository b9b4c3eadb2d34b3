/**
 * Sync mode: a unit of several shards is copied shard by shard while rounds are applied, and handed over
 * (docs/copies.md). Each version has the bits that it has when no unit moves.
 */

import { beforeEach, describe, expect, it } from 'vitest';
import { takenBy } from '../../../../../src/cluster/placement/heads.ts';
import { pushLane } from '../../../../../src/roles/pserver/modes/rounds/push-pull.ts';
import type { Serving } from '../../../../../src/roles/pserver/serving.ts';
import { copyShard } from '../../../../../src/roles/pserver/transfer/copy-pieces.ts';
import { IncomingUnit } from '../../../../../src/roles/pserver/transfer/incoming-unit.ts';
import { roundsPieces } from '../../../../../src/roles/pserver/transfer/rounds-pieces.ts';
import { partOf } from '../../../../../src/roles/pserver/update/parts.ts';
import type { RoundUpdate } from '../../../../../src/roles/pserver/update/update.ts';
import { type OptimizerSpec, type TrainedSpec, trainedSpec } from '../../../../../src/tensor/optimizer.ts';
import * as fc from '../../../../properties.ts';
import { makeParameters } from '../../../../tensor/fixture.ts';
import { OPTIMIZERS } from '../../../../tensor/optimizers.ts';
import { anyRound, type PlainLane, ROUND_SPEC } from '../../../../tensor/rounds.ts';
import { LANES, PlayedPserver, type PlayedRounds, ROUNDS, SHARDS, undisturbed } from './played.ts';

const UNITS = 2;
const PIECE_BYTES = 64;

/** A move of a unit, carried out step by step. */
class Carried {
  readonly #from: PlayedPserver;
  readonly #to: PlayedPserver;
  readonly #unit: number;
  readonly #spec: TrainedSpec;
  readonly copy: IncomingUnit;
  readonly #complete: number[] = [];
  forwarded = 0;
  /** Of the target. */
  timeline = 0;

  constructor(from: PlayedPserver, to: PlayedPserver, unit: number, optimizer: OptimizerSpec) {
    [this.#from, this.#to, this.#unit] = [from, to, unit];
    this.#spec = trainedSpec(ROUND_SPEC, { optimizer });
    this.copy = new IncomingUnit({
      held: to.rig.shards.beside(),
      shards: to.rig.shards.shardsOf(unit),
      timeline: () => this.timeline,
    });
    from.rig.moves = {
      wait: () => undefined,
      applied: (make, units) => {
        if (units.includes(unit) && this.#complete.length > 0) this.forward(make());
        return undefined;
      },
    };
  }

  forward(round: RoundUpdate): void {
    this.forwarded += 1;
    const { shards } = this.#from.rig;
    this.copy.apply(this.#complete, partOf(shards.parts, round, shards.shardsOf(this.#unit)));
  }

  /** Copies the next shard; false when all are there. */
  copyNext(): boolean {
    const { shards } = this.#from.rig;
    const shard = shards.shardsOf(this.#unit)[this.#complete.length];
    if (shard === undefined) return false;
    const ofRounds = roundsPieces(ROUND_SPEC, this.#from.rounds.stateOf(this.#unit, [shard]), PIECE_BYTES);
    const pieces = copyShard(shards, shard, this.#spec, PIECE_BYTES, ofRounds);
    for (const [at, piece] of pieces.entries()) this.copy.put(shard, piece, at === 0, at === pieces.length - 1);
    this.#complete.push(shard);
    return true;
  }

  handOver(epoch: number): void {
    while (this.copyNext());
    this.abandon();
    const head = { ...takenBy({ index: 0, token: '7' }, undefined), epoch, led: epoch };
    this.#from.rig.shards.remove(this.#unit);
    this.#from.rounds.remove(this.#unit);
    this.#to.rig.shards.add({ unit: this.#unit, head, modRevision: BigInt(epoch) }, this.copy.positions(), true);
    this.#to.rounds.add(this.#unit, this.copy.rounds()!);
  }

  abandon(): void {
    this.#from.rig.moves = { wait: () => undefined, applied: () => undefined };
  }
}

const anyRounds = fc.array(anyRound(ROUND_SPEC, LANES), { minLength: ROUNDS, maxLength: ROUNDS });
const anyStep = fc.oneof(
  { weight: 5, arbitrary: fc.record({ lane: fc.nat(LANES - 1), to: fc.constantFrom([0], [1], [0, 1], [0, 1]) }) },
  {
    weight: 3,
    arbitrary: fc.record({ move: fc.constantFrom('copy', 'copy', 'handOver', 'abandon'), unit: fc.nat(1) }),
  },
);

it.each(OPTIMIZERS)('$type: each version has the same bits, whenever a unit is copied and handed over', (optimizer) =>
  fc.assert(
    fc.asyncProperty(anyRounds, fc.array(anyStep, { maxLength: 60, size: 'max' }), async (rounds, steps) => {
      const expected = await undisturbed(optimizer, rounds);
      const pservers = [
        new PlayedPserver(optimizer, rounds, [0, 1], UNITS),
        new PlayedPserver(optimizer, rounds, [], UNITS),
      ];
      const leading = (): PlayedPserver[] => pservers.filter(({ held }) => held.length > 0);
      const version = (): number => Math.min(...leading().map((one) => one.version));
      let move: Carried | undefined;
      let epoch = 1;
      for (const step of steps) {
        if ('lane' in step) {
          const round = version();
          if (round === ROUNDS) continue;
          for (const at of step.to) if (leading().includes(pservers[at]!)) pservers[at]!.push(round, step.lane);
        } else if (step.move === 'copy') {
          const [from, to] = pservers[0]!.rig.shards.heads.of(step.unit) === undefined ? [1, 0] : [0, 1];
          move ??= new Carried(pservers[from]!, pservers[to]!, step.unit, optimizer);
          move.copyNext();
        } else if (move !== undefined) {
          if (step.move === 'handOver') move.handOver(++epoch);
          else move.copy.discard();
          move.abandon();
          move = undefined;
        }
        const oldest = Math.max(...leading().map(({ rounds: { gates } }) => gates.oldest()));
        for (const pserver of leading()) {
          for (let at = oldest; at <= pserver.version; at++) {
            for (const [name, value] of await pserver.pulled(at)) expect(value).toBe(expected[at]!.pulled.get(name));
          }
          expect(pserver.rounds.metrics()).toEqual(expected[pserver.version]!.metrics);
        }
      }
      move?.handOver(++epoch);
      for (let round = version(); round < ROUNDS; round++) {
        for (const pserver of leading()) if (pserver.version === round) pserver.pushMissing();
      }
      const states = new Map([...pservers[0]!.states(), ...pservers[1]!.states()]);
      expect(new Map([...states].sort(([a], [b]) => a - b))).toEqual(expected[ROUNDS]!.states);
    }),
    // A smaller example would take minutes to find.
    { numRuns: 10, endOnFailure: true },
  ),
);

describe('while a unit is handed over', () => {
  const [optimizer] = OPTIMIZERS;
  const none: PlayedRounds = Array.from({ length: ROUNDS }, () =>
    Array.from({ length: LANES }, () => ({ records: 0, dense: [], sparse: [] })),
  );
  let one: PlayedPserver;
  let settle: () => void;
  let kinds: string[];

  beforeEach(() => {
    one = new PlayedPserver(optimizer!, none, [0, 1], UNITS);
    const settled = Promise.withResolvers<void>();
    let isSettled = false;
    kinds = [];
    settle = () => {
      isSettled = true;
      settled.resolve();
    };
    one.rig.moves = {
      wait: (kind) => {
        kinds.push(kind);
        return isSettled ? undefined : settled.promise;
      },
      applied: () => undefined,
    };
  });

  it.each(['pull', 'position'] as const)('a %s waits, and is judged again by the units that are left', async (what) => {
    const answers: unknown[] = [];
    const asked = what === 'pull' ? one.rig.pull(0, {}, { maxWaitMs: 0 }) : one.rig.position();
    asked.then(
      () => answers.push('answered'),
      (error: { code: string }) => answers.push(error.code),
    );
    await one.rig.clock.advance(0);
    expect(answers).toEqual([]);
    one.rig.shards.remove(1);
    one.rounds.remove(1);
    settle();
    await one.rig.clock.advance(0);
    expect([answers, kinds.includes('update')]).toEqual([['StalePlacement'], false]);
  });

  it('a lane waits, and what completes its round waits until the target has room', async () => {
    const forwarded = Promise.withResolvers<void>();
    const rounds = { untilUpdatable: () => one.rounds.untilUpdatable(), pushLane: () => pushed() };
    const pushed = () => {
      taken += 1;
      return { reply: { header: { type: 'pushLane', outcome: 'taken', version: 1 } }, forwarded: forwarded.promise };
    };
    let taken = 0;
    let isAnswered = false;
    const serving = {
      ...{ rounds, shards: one.rig.shards, isHeld: () => true, beforeUpdate: () => undefined },
      metrics: { pushed: () => {} },
    } as unknown as Serving;
    const header = { placement: one.rig.shards.stamp };
    const request = { header, segmentCount: 0 } as unknown as Parameters<typeof pushLane>[1];
    void Promise.resolve(pushLane(serving, request)).then(() => {
      isAnswered = true;
    });
    await one.rig.clock.advance(0);
    expect([taken, isAnswered, kinds]).toEqual([0, false, ['update']]);
    settle();
    await one.rig.clock.advance(0);
    expect([taken, isAnswered]).toEqual([1, false]);
    forwarded.resolve();
    await one.rig.clock.advance(0);
    expect(isAnswered).toBe(true);
  });

  it('a round tells which units have applied it, and what it was made of', () => {
    const told: unknown[] = [];
    one.rig.moves = {
      wait: () => undefined,
      applied: (make, units) => {
        told.push([units, make().round, make().timeline, make().batches.length]);
        return undefined;
      },
    };
    one.pushMissing();
    expect(told).toEqual([[[0, 1], 0, 0, LANES]]);
  });

  it('a cut that is to be saved after it lacks the unit', async () => {
    one.rig.moves = { wait: () => undefined, applied: () => undefined };
    one.rig.holdsSaves = true;
    const cutting = one.rig.cut(0);
    one.rig.shards.remove(1);
    one.rounds.remove(1);
    one.rig.holdsSaves = false;
    one.rig.releaseSaves();
    const [save] = one.rig.saves;
    expect(save!.source.shards).toEqual([0, 2]);
    save!.end.resolve({ uuid: 'a', md5: 'b', bytes: 1, rows: 0, positions: [] });
    expect(await cutting).toMatchObject({ outcome: 'saved' });
    // It comes back: the file is not enough any more.
    for (const shard of [1, 3]) one.parameters.addShard(shard);
    const head = { ...takenBy({ index: 0, token: '7' }, undefined), epoch: 5, led: 5 };
    one.rig.shards.add({ unit: 1, head, modRevision: 5n }, { ledgers: new Map(), seqs: new Map() }, true);
    one.rounds.add(1, { version: 0, previous: undefined, metrics: [] });
    void one.rig.cut(0);
    expect(one.rig.saves.map(({ source }) => source.shards)).toEqual([
      [0, 2],
      [0, 1, 2, 3],
    ]);
  });
});

describe('a unit on its way', () => {
  const [optimizer] = OPTIMIZERS;
  const lane = (records: number): PlainLane => ({
    records,
    dense: ROUND_SPEC.dense.map(({ shape }) => new Float32Array(shape[0]!).fill(records)),
    sparse: ROUND_SPEC.sparse.map(({ width }) => {
      return new Map(Array.from({ length: 20 }, (_, id) => [BigInt(id), new Float32Array(width).fill(records)]));
    }),
  });
  const plain: PlayedRounds = Array.from({ length: ROUNDS }, (_, round) =>
    Array.from({ length: LANES }, (_unused, at) => lane(round + at + 1)),
  );
  let from: PlayedPserver;
  let to: PlayedPserver;
  let move: Carried;

  beforeEach(() => {
    from = new PlayedPserver(optimizer!, plain, [0, 1], UNITS);
    to = new PlayedPserver(optimizer!, plain, [], UNITS);
    move = new Carried(from, to, 1, optimizer!);
  });

  it('takes the rounds that were applied since, with the version before them', async () => {
    const expected = await undisturbed(optimizer!, plain);
    move.copyNext();
    from.pushMissing();
    move.copyNext();
    from.pushMissing();
    move.handOver(2);
    expect(move.forwarded).toBe(2);
    expect(to.rounds.stateOf(1)).toMatchObject({ version: 2, metrics: expected[2]!.metrics });
    for (const version of [1, 2]) {
      for (const [name, value] of await to.pulled(version)) expect(value).toBe(expected[version]!.pulled.get(name));
    }
    expect([...to.states()]).toEqual([...expected[2]!.states].filter(([shard]) => shard % UNITS === 1));
  });

  it('does not have the version before when a lane of the next round was taken', () => {
    from.pushMissing();
    move.copyNext();
    from.push(1, 0);
    move.handOver(2);
    expect(to.rounds.stateOf(1).previous).toBeUndefined();
  });

  it('is told only of rounds that it has applied itself', () => {
    from.push(0, 0);
    // It has no lane now: a group of its own.
    from.leaveAndReturn(1);
    const told: unknown[] = [];
    from.rig.moves = {
      wait: () => undefined,
      applied: (make, units) => {
        told.push([units, make().round]);
        return undefined;
      },
    };
    from.push(0, 1);
    from.push(0, 2);
    expect(told).toEqual([[[0], 0]]);
    from.push(0, 0);
    expect(told).toEqual([
      [[0], 0],
      [[1], 0],
    ]);
  });

  const noRound = { type: 'round', timeline: 0, round: 0, batches: [], dense: [], sparse: [] } as const;

  it('is refused in another timeline than its target is on, and so is a round', () => {
    const later = { ...from.rounds.stateOf(1), timeline: 1 };
    const [piece] = roundsPieces(ROUND_SPEC, later, PIECE_BYTES);
    expect(() => move.copy.put(1, piece!, true, false)).toThrow(expect.objectContaining({ code: 'BadMessage' }));
    move.copy.discard();
    move = new Carried(from, to, 1, optimizer!);
    move.copyNext();
    expect(() => move.forward({ ...noRound, timeline: 1 })).toThrow(expect.objectContaining({ code: 'BadMessage' }));
  });

  it('takes no round when its target has gone back to a cut, even one of the new timeline', () => {
    move.copyNext();
    const present = to.rig.shards.numbers;
    const parameters = makeParameters({ spec: ROUND_SPEC, optimizer: optimizer!, shards: SHARDS, present });
    to.rig.shards.restate({ parameters, ledgers: new Map(), seqs: new Map() });
    move.timeline = 1;
    expect(() => move.forward({ ...noRound, timeline: 1 })).toThrow('the copy is from before all went back to a cut');
  });

  it('is refused when a round is missing or comes twice, or when its mini-batches do not fit', () => {
    move.copyNext();
    expect(() => move.forward({ ...noRound, round: 1 })).toThrow(expect.objectContaining({ code: 'BadMessage' }));
    move.forward(noRound);
    expect(() => move.forward(noRound)).toThrow(expect.objectContaining({ code: 'BadMessage' }));
    const position = { pass: 0, task: 0, push: 1, last: true, good: 3 };
    const metrics = { records: 1, weight: 1, loss: 0, correct: 0, squaredError: 0 };
    const batches = [{ position, metrics }];
    expect(() => move.forward({ ...noRound, round: 1, batches })).toThrow(
      expect.objectContaining({ code: 'BadMessage' }),
    );
  });

  it('takes no push and no closure, which sync mode does not have', () => {
    move.copyNext();
    expect(() => move.copy.apply([1], { type: 'close', tasks: [] })).toThrow(
      expect.objectContaining({ code: 'BadMessage' }),
    );
  });
});
