/** Whatever moves and is saved, the newest published copy of each shard stays and is found. */

import { expect, it } from 'vitest';
import { coverageOf } from '../../../src/checkpoint/file/coverage.ts';
import type { Generation } from '../../../src/checkpoint/registry/entry.ts';
import { newestFiles, newestFirst, type PublishedFile, wholeRound } from '../../../src/checkpoint/registry/newest.ts';
import { retain } from '../../../src/checkpoint/registry/retention.ts';
import * as fc from '../../properties.ts';
import { uuidOf } from '../fixture.ts';

const SHARDS = [0, 1, 2, 3, 4, 5];
const PSERVERS = 3;

interface Held {
  owner: number;
  epoch: number;
  seq: number;
}

/** Pservers that move shards, apply updates and save, without files: only what is published of them. */
class Cluster {
  readonly held: Held[] = SHARDS.map((shard) => ({ owner: shard % 2, epoch: 1, seq: 0 }));
  readonly entries = new Map<number, Generation[]>();
  /** The position at which each shard was published last. */
  readonly saved = new Map<number, Held>();
  /** What each pserver has read of the others, maybe long ago. */
  readonly #read = new Map<number, Generation[]>();
  #files = 0;
  readonly #keep: number;

  constructor(keep: number) {
    this.#keep = keep;
  }

  move(shard: number, owner: number): void {
    const held = this.held[shard]!;
    if (held.owner === owner) return;
    held.owner = owner;
    held.epoch += 1;
  }

  /** Its owner dies: the next one has what was saved last, or nothing. */
  die(shard: number, owner: number): void {
    const held = this.held[shard]!;
    held.owner = owner;
    held.epoch += 1;
    held.seq = this.saved.get(shard)?.seq ?? 0;
  }

  /** Sync mode: all pservers, to a cut before. An owner leads its shards on in the same epochs. */
  goBack(rounds: number): void {
    for (const held of this.held) held.seq = Math.max(0, held.seq - rounds);
  }

  push(shard: number): void {
    this.held[shard]!.seq += 1;
  }

  readOthers(index: number): void {
    this.#read.set(index, this.#othersOf(index));
  }

  save(index: number, isReadNow: boolean): void {
    const mine = SHARDS.filter((shard) => this.held[shard]!.owner === index);
    if (mine.length === 0) return;
    if (isReadNow) this.readOthers(index);
    const newest = generationOf(
      ++this.#files,
      mine.map((shard) => ({ shard, ...this.held[shard]! })),
    );
    const before = this.entries.get(index) ?? [];
    const others = this.#read.get(index) ?? [];
    const { kept } = retain(newest, before, { keep: this.#keep, others, isProtected: () => false });
    this.entries.set(index, [newest, ...kept]);
    for (const shard of mine) this.saved.set(shard, { ...this.held[shard]! });
  }

  files(): PublishedFile[] {
    const indexes = [...this.entries.keys()].sort((a, b) => a - b);
    return indexes.flatMap((index) => this.entries.get(index)!.map((generation) => ({ index, generation })));
  }

  #othersOf(index: number): Generation[] {
    return [...this.entries].flatMap(([other, files]) => (other === index ? [] : files));
  }
}

function generationOf(
  number: number,
  positions: readonly { readonly shard: number; readonly epoch: number; readonly seq: number }[],
  more: Partial<Generation> = {},
): Generation {
  return { uuid: uuidOf(number), md5: '0'.repeat(32), timestamp: number, shards: coverageOf(positions), ...more };
}

const shard = fc.nat(SHARDS.length - 1);
const pserver = fc.nat(PSERVERS - 1);
const step = fc.oneof(
  fc.record({ do: fc.constant('push' as const), shard }),
  fc.record({ do: fc.constant('move' as const), shard, pserver }),
  fc.record({ do: fc.constant('die' as const), shard, pserver }),
  fc.record({ do: fc.constant('goBack' as const), rounds: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ do: fc.constant('read' as const), pserver }),
  fc.record({ do: fc.constant('save' as const), pserver, isReadNow: fc.boolean() }),
);

it('is there and is the first that is found', () => {
  fc.assert(
    fc.property(fc.nat(2), fc.array(step, { maxLength: 60 }), (keep, steps) => {
      const cluster = new Cluster(keep);
      for (const one of steps) {
        if (one.do === 'push') cluster.push(one.shard);
        else if (one.do === 'move') cluster.move(one.shard, one.pserver);
        else if (one.do === 'die') cluster.die(one.shard, one.pserver);
        else if (one.do === 'goBack') cluster.goBack(one.rounds);
        else if (one.do === 'read') cluster.readOthers(one.pserver);
        else cluster.save(one.pserver, one.isReadNow);
        const files = cluster.files();
        const newest = newestFiles(files);
        for (const [number, found] of newestFirst(files, SHARDS)) {
          const saved = cluster.saved.get(number);
          const epochs = found.map(({ generation }) => epochOf(generation, number));
          expect(epochs).toEqual([...epochs].sort((a, b) => b - a));
          expect(found[0] && positionIn(found[0].generation, number, saved!)).toBe(saved && true);
          if (found[0] !== undefined) expect(newest).toContain(found[0]);
        }
      }
    }),
    { numRuns: 400 },
  );
});

const epochOf = ({ shards }: Generation, number: number): number =>
  shards!.find((group) => coversOf(group.shards).includes(number))!.epoch;

/** Whether the file may have the shard at that position. */
function positionIn({ shards }: Generation, number: number, { epoch, seq }: Held): boolean {
  const group = shards!.find((one) => coversOf(one.shards).includes(number))!;
  return group.epoch === epoch && group.seq[0] <= seq && seq <= group.seq[1];
}

/** Of fewer than ten shards. */
const coversOf = (text: string): number[] =>
  SHARDS.filter((number) =>
    text.split(',').some((part) => {
      const [first, last = first, stride = 1] = part.split(/[-/]/).map(Number) as [number, number?, number?];
      return number >= first && number <= last && (number - first) % stride === 0;
    }),
  );

it('is bounded: a cluster that stays as it is keeps as many files as it is told to', () => {
  const cluster = new Cluster(1);
  for (let round = 0; round < 20; round++) {
    for (const number of SHARDS) cluster.push(number);
    if (round === 5) cluster.move(0, 2);
    for (let index = 0; index < PSERVERS; index++) cluster.save(index, true);
  }
  expect([...cluster.entries.values()].map(({ length }) => length)).toEqual([2, 2, 2]);
});

const at = (round: number, shards: readonly number[]) => shards.map((one) => ({ shard: one, epoch: 1, seq: round }));

it('is of one round in sync mode: of the newest of which every shard is saved, by whichever pservers', () => {
  const file = (index: number, number: number, round: number, shards: readonly number[]): PublishedFile => ({
    index,
    generation: generationOf(number, at(round, shards), { round }),
  });
  // Pserver 2 has gone, and pserver 0 has its shards; of round 30 one shard is missing.
  const files = [
    file(0, 1, 30, [0, 1, 4]),
    file(0, 2, 20, [0, 1, 4, 5]),
    file(0, 3, 10, [0, 1]),
    file(1, 4, 30, [2, 3]),
    file(1, 5, 20, [2, 3]),
    file(2, 6, 10, [4, 5]),
  ];
  expect(wholeRound(files)).toBe(20);
  expect(newestFiles(files).map(({ generation }) => generation.uuid)).toEqual([2, 5].map(uuidOf));
  expect(wholeRound(files.filter(({ generation }) => generation.round !== 20))).toBeUndefined();
});

it('has what a backup wrote down when it parted, rather than an older file of its primary', () => {
  const file = (index: number, number: number, seq: number, facts: Partial<Generation>): PublishedFile => ({
    index,
    generation: generationOf(number, at(seq, [0]), facts),
  });
  const older = file(0, 1, 29, {});
  const written = file(1, 2, 39, { clean: true });
  expect(newestFirst([older, written], [0]).get(0)).toEqual([written, older]);
  // All went back to a cut, and the primary has saved since.
  const since = file(0, 3, 10, { timeline: '1' });
  expect(newestFirst([older, written, since], [0]).get(0)).toEqual([since, written, older]);
});
