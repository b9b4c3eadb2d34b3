/** Copies are compared at equal positions, whatever the pace of the job. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { type CompareOptions, compareUnit, nextAhead } from '../../../src/cluster/client/compare-copies.ts';
import type { UnitPlace } from '../../../src/cluster/placement/unit-places.ts';

const PLACE = {
  ...{ unit: 3, last: 1, led: 1, hasCopy: false, owner: {} as never, head: undefined },
  stored: { unit: 3, head: {} as never, modRevision: 5n },
  copies: [0, 1].map((index) => ({ index, address: `p:${index}`, token: 1n })),
} satisfies UnitPlace;

/** Copies that go on by so many updates with each question; the backup is one behind. */
class Copies {
  readonly at = [9, 10];
  readonly asked: (number | undefined)[] = [];
  revision: bigint | undefined = 5n;
  readonly #pace: number;
  readonly #digestOf: (pserver: number, shard: number, position: number) => string;

  constructor(pace: number, digestOf: (pserver: number, shard: number, position: number) => string) {
    this.#pace = pace;
    this.#digestOf = digestOf;
  }

  readonly options: CompareOptions = {
    digestAt: async ({ index }, { shard, position }) => {
      this.asked.push(position);
      if (position === undefined) return { position: this.at[index]! };
      const met = this.#pace > 0 ? position >= this.at[index]! : position === this.at[1];
      this.at[index] = Math.max(this.at[index]!, position) + this.#pace;
      return met ? { position, digest: this.#digestOf(index, shard, position) } : { position: this.at[index]! };
    },
    headRevision: async () => this.revision,
  };
}

const same = (_: number, shard: number, position: number): string => `${shard} ${position}`;
const compare = (copies: Copies, place: UnitPlace = PLACE) => compareUnit(copies.options, place, [3, 7]);

describe('copies of a unit', () => {
  it('are equal where nothing trains, and at any pace', async () => {
    for (const pace of [0, 1, 50]) expect(await compare(new Copies(pace, same))).toEqual({ outcome: 'equal' });
  });

  it('are asked further ahead while they are past it, and less far while they do not come there', () => {
    expect([0, 1, 8].map((ahead) => nextAhead(ahead, true))).toEqual([1, 2, 16]);
    expect([0, 1, 3, 40].map((ahead) => nextAhead(ahead, false))).toEqual([0, 0, 0, 10]);
  });

  it('that differ are named, with their position', async () => {
    const copies = new Copies(0, (pserver, shard) => (shard === 7 ? `of ${pserver}` : 'same'));
    const digests = [
      { pserver: 1, digest: 'of 1' },
      { pserver: 0, digest: 'of 0' },
    ];
    expect(await compare(copies)).toEqual({ outcome: 'different', shards: [{ shard: 7, position: 10, digests }] });
  });

  it('that seem to differ while the head changes may not have been in sync', async () => {
    const copies = new Copies(0, (pserver) => `of ${pserver}`);
    copies.revision = 6n;
    expect(await compare(copies)).toEqual({ outcome: 'unsettled', why: 'its copies changed' });
  });

  it('are not compared where there is one, no primary, or one that is gone or does not answer', async () => {
    const copies = new Copies(0, same);
    expect(await compare(copies, { ...PLACE, copies: PLACE.copies.slice(1) })).toEqual({ outcome: 'alone' });
    expect(await compare(copies, { ...PLACE, owner: undefined })).toMatchObject({ outcome: 'unsettled' });
    const gone = { ...copies.options, digestAt: async () => ({}) };
    expect(await compareUnit(gone, PLACE, [3])).toEqual({ outcome: 'unsettled', why: 'a copy of it was removed' });
    const silent = { ...copies.options, digestAt: () => Promise.reject(new PaddletError('NotReady', 'not yet')) };
    expect(await compareUnit(silent, PLACE, [3])).toEqual({ outcome: 'unsettled', why: 'not yet' });
  });

  it('that never meet are given up for now', async () => {
    let position = 0;
    const digestAt: CompareOptions['digestAt'] = async (_, asked) => {
      position = Math.max(position, asked.position ?? 0) + 1;
      return { position };
    };
    const options = { ...new Copies(0, same).options, digestAt };
    expect(await compareUnit(options, PLACE, [3])).toMatchObject({ outcome: 'unsettled' });
  });
});
