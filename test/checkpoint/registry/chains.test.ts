/** Retention of deltas: whatever is published in whatever order, each file that stays has all that it builds on. */
import { expect, it } from 'vitest';
import { coverageOf, coveredShards, parentsOf } from '../../../src/checkpoint/file/coverage.ts';
import type { ShardPosition } from '../../../src/checkpoint/file/format.ts';
import type { Generation } from '../../../src/checkpoint/registry/entry.ts';
import { isDelta, retain } from '../../../src/checkpoint/registry/retention.ts';
import * as fc from '../../properties.ts';
import { createDice, type Dice } from '../../sim/dice.ts';
import { uuidOf } from '../fixture.ts';

const SHARDS = 6;

/** What was tried. */
const counts = { deltas: 0, dropped: 0, droppedDeltas: 0, heldLong: 0, movedAway: 0 };

class History {
  readonly dice: Dice;
  readonly keep: number;
  /** Newest first. */
  files: Generation[] = [];
  #saves = 0;
  #seq = 0;
  /** Shards that this index leads, their epochs, and the file that has each of them. */
  readonly #led = new Map<number, { epoch: number; parent: { uuid: string; seq: number } | undefined }>();
  readonly #others: Generation[] = [];
  /** Files that a cut or a reader needs. */
  readonly #protected = new Set<string>();
  #epoch = 1;

  constructor(seed: number) {
    this.dice = createDice(seed, 'chains');
    this.keep = this.dice.whole(0, 2);
    for (let shard = 0; shard < SHARDS; shard++) this.#led.set(shard, { epoch: 1, parent: undefined });
  }

  /** A shard goes to another pserver, which saves it; or it comes back. */
  move(): void {
    const shard = this.dice.whole(0, SHARDS - 1);
    this.#epoch += 1;
    if (!this.#led.has(shard)) {
      this.#led.set(shard, { epoch: this.#epoch, parent: undefined });
      return;
    }
    this.#led.delete(shard);
    const position = { shard, epoch: this.#epoch, seq: this.#seq };
    const whole = generationOf(0x1000 + this.#others.length, [position]);
    this.#others.push(whole);
    const parent = { uuid: whole.uuid, seq: this.#seq };
    if (this.dice.chance(0.5)) this.#others.push(generationOf(0x1000 + this.#others.length, [{ ...position, parent }]));
    counts.movedAway += 1;
  }

  /** Some shard is loaded again: it has no parent. */
  forget(): void {
    const [shard] = this.dice.pick([...this.#led.entries(), [-1, undefined] as const]);
    const led = this.#led.get(shard);
    if (led !== undefined) led.parent = undefined;
  }

  save(wantsDelta: boolean): void {
    if (this.#led.size === 0) return;
    const number = ++this.#saves;
    this.#seq += this.dice.whole(0, 3);
    const positions = [...this.#led].map(([shard, { epoch, parent }]): ShardPosition => {
      return { shard, epoch, seq: this.#seq, ...(wantsDelta && parent !== undefined ? { parent } : {}) };
    });
    const newest = generationOf(number, positions);
    if (isDelta(newest)) counts.deltas += 1;
    if (this.dice.chance(0.1)) this.#protected.add(newest.uuid);
    if (this.dice.chance(0.2)) this.#protected.clear();
    const isProtected = ({ uuid }: Generation): boolean => this.#protected.has(uuid);
    const { kept, dropped } = retain(newest, this.files, { keep: this.keep, others: this.#others, isProtected });
    counts.dropped += dropped.length;
    counts.droppedDeltas += this.files.filter((file) => dropped.includes(file.uuid) && isDelta(file)).length;
    this.#check(newest, kept, dropped);
    this.files = [newest, ...kept];
    for (const led of this.#led.values()) led.parent = { uuid: newest.uuid, seq: this.#seq };
  }

  #check(newest: Generation, kept: readonly Generation[], dropped: readonly string[]): void {
    const left = new Map([newest, ...kept].map((file) => [file.uuid, file]));
    expect([...kept.map(({ uuid }) => uuid), ...dropped].sort()).toEqual(this.files.map(({ uuid }) => uuid).sort());
    for (const file of left.values()) {
      // Each link of each chain is there, and has the shard.
      for (const [shard, { parent }] of coveredShards(file.shards!)!) {
        if (parent === undefined) continue;
        const before = left.get(file.parents![parent]!);
        expect(before && coveredShards(before.shards!)!.has(shard), `${file.uuid} shard ${shard}`).toBe(true);
      }
    }
    for (const uuid of this.#protected) if (uuid !== newest.uuid) expect(dropped).not.toContain(uuid);
    // Of each shard the newest `keep` whole copies beside the newest one stay.
    for (const shard of this.#led.keys()) {
      const whole = [newest, ...this.files].filter((file) => {
        const found = coveredShards(file.shards!)!.get(shard);
        return found !== undefined && found.parent === undefined && found.epoch === this.#led.get(shard)!.epoch;
      });
      for (const file of whole.slice(0, 1)) expect(left.has(file.uuid)).toBe(true);
    }
    if (kept.filter((file) => !isDelta(file)).length > this.keep + 1) counts.heldLong += 1;
  }

  /** Two whole files more than are kept, and nothing else needs the old ones. */
  settle(): void {
    this.#protected.clear();
    for (const shard of [...Array(SHARDS).keys()])
      if (!this.#led.has(shard)) this.#led.set(shard, { epoch: ++this.#epoch, parent: undefined });
    for (let times = 0; times < this.keep + 2; times++) {
      this.#seq += 1;
      for (const led of this.#led.values()) led.parent = undefined;
      this.save(false);
      this.#protected.clear();
    }
    expect(this.files).toHaveLength(this.keep + 1);
  }
}

function generationOf(number: number, positions: readonly ShardPosition[]): Generation {
  const parents = parentsOf(positions);
  const kind = parents.length === 0 ? { kind: 'full' } : { kind: 'delta', parents };
  return { uuid: uuidOf(number), md5: '0'.repeat(32), timestamp: number, shards: coverageOf(positions), ...kind };
}

it('as many whole files stay as are to be kept beside the newest one, whatever deltas are between them', () => {
  const position = { shard: 0, epoch: 1, seq: 0 };
  const whole = (number: number) => generationOf(number, [{ ...position, seq: number }]);
  const delta = (number: number, on: number) =>
    generationOf(number, [{ ...position, seq: number, parent: { uuid: uuidOf(on), seq: on } }]);
  const before = [delta(5, 4), whole(4), delta(3, 2), whole(2), delta(1, 0), whole(0)];
  const left = (keep: number) =>
    retain(delta(6, 5), before, { keep, others: [], isProtected: () => false }).kept.map(({ timestamp }) => timestamp);
  expect([0, 1, 2].map(left)).toEqual([
    [5, 4],
    [5, 4, 3, 2],
    [5, 4, 3, 2, 1, 0],
  ]);
});

it('each file that stays has all that it builds on, and old files go', () => {
  fc.assert(
    fc.property(fc.nat(2 ** 31), (seed) => {
      const history = new History(seed);
      for (let step = 0; step < 60; step++) {
        if (history.dice.chance(0.1)) history.move();
        if (history.dice.chance(0.1)) history.forget();
        history.save(history.dice.chance(0.75));
      }
      history.settle();
    }),
    { numRuns: 200 },
  );
  for (const [what, times] of Object.entries(counts)) expect(times, what).toBeGreaterThan(0);
});
