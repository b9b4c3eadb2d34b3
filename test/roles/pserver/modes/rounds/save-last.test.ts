/** The last state of units at two rounds is two files, each of one round. */
import { beforeEach, expect, it } from 'vitest';
import type { CheckpointFile } from '../../../../../src/checkpoint/file/write-durable-file.ts';
import type { PartingSource } from '../../../../../src/roles/pserver/files/snapshots.ts';
import {
  type SaveLast,
  saveAll,
  saveLast,
  saveParting,
} from '../../../../../src/roles/pserver/modes/rounds/save-last.ts';
import { OPTIMIZERS } from '../../../../tensor/optimizers.ts';
import { LANES, PlayedPserver, ROUNDS } from './played.ts';

const NONE = Array.from({ length: ROUNDS }, () =>
  Array.from({ length: LANES }, () => ({ records: 0, dense: [], sparse: [] })),
);

let pserver: PlayedPserver;
let events: unknown[];
let by: SaveLast;

beforeEach(() => {
  events = [];
  pserver = new PlayedPserver(OPTIMIZERS[0]!, NONE);
  const { rounds } = pserver;
  const { shards } = pserver.rig;
  const { heads } = shards;
  heads.rest = async ({ uuid }, units) => void events.push(['rest', uuid, units]);
  by = {
    ...{ index: 0, timeline: 0, rounds, shards },
    snapshots: {
      save: async (kind, source) => {
        const { round } = source!.rounds;
        events.push(['saved', kind, round, source!.shards, source!.shards.map((shard) => source!.momentOf(shard).seq)]);
        return { uuid: `of ${round}` } as CheckpointFile;
      },
      saveParting: async (sources: readonly PartingSource[]) =>
        void events.push(...sources.map(({ shards: some, rounds: at }) => ['parts', at!.round, some])),
    },
  };
});

/** Unit 2 has lost lane 0 of round 0, and the others are past that round. */
function part(): void {
  pserver.push(0, 0);
  pserver.leaveAndReturn(2);
  for (const lane of [1, 2]) pserver.push(0, lane);
}

it('units at one round are in one file', async () => {
  pserver.pushMissing();
  await saveLast(by);
  expect(events).toEqual([
    ['saved', 'last', 1, [0, 1, 2, 3], [1, 1, 1, 1]],
    ['rest', 'of 1', [0, 1, 2, 3]],
  ]);
});

it('units at two rounds are in two files, and each head names the one with its unit', async () => {
  part();
  await saveLast(by);
  expect(events).toEqual([
    ['saved', 'last', 0, [2], [0]],
    ['rest', 'of 0', [2]],
    ['saved', 'last', 1, [0, 1, 3], [1, 1, 1]],
    ['rest', 'of 1', [0, 1, 3]],
  ]);
});

it('a parting snapshot is announced once, with a file of each round', async () => {
  part();
  await saveParting(by);
  expect(events).toEqual([
    ['parts', 0, [2]],
    ['parts', 1, [0, 1, 3]],
  ]);
});

it('a parting snapshot has copies of units that others led, each in the file of its round', async () => {
  part();
  const copyOf = (unit: number, version: number, timeline = 0) => ({
    ...{ unit, moments: [{ shard: unit, epoch: 3, seq: version, ledger: new Uint8Array() }] },
    rounds: { timeline, version, previous: undefined, metrics: [] },
  });
  // What was led is not copied; the one of another timeline is of no use.
  await saveParting(by, [copyOf(5, 1), copyOf(6, 2), copyOf(7, 1, 1)]);
  expect(events).toEqual([
    ['parts', 0, [2]],
    ['parts', 1, [0, 1, 3, 5]],
    ['parts', 2, [6]],
  ]);
});

it('a checkpoint of all units is refused while they are at two rounds', async () => {
  part();
  await expect(saveAll(by, 'last')).rejects.toMatchObject({ code: 'NotReady' });
  pserver.push(0, 0);
  expect(await saveAll(by, 'last')).toEqual({ uuid: 'of 1' });
  expect(events).toEqual([['saved', 'base', 1, [0, 1, 2, 3], [1, 1, 1, 1]]]);
});
