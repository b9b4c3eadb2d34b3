/** Going back to a cut: each unit from whichever file of the cut has it. */
import { beforeEach, expect, it } from 'vitest';
import { checkpointPath } from '../../../../../src/checkpoint/file/paths.ts';
import type { Cut, CutFile } from '../../../../../src/checkpoint/registry/cut.ts';
import { loadCut } from '../../../../../src/roles/pserver/modes/rounds/load-cut.ts';
import { contentOf, emptyParameters, fill, IDS } from '../../../../checkpoint/fixture.ts';
import { settled } from '../../../master/tasks/service-rig.ts';
import { CutRig, FOLDER, INDEX, JOB, ROUND, shardsOf } from './cut-rig.ts';

let rig: CutRig;
let files: CutFile[];
let cut: Cut;

beforeEach(async () => {
  rig = new CutRig();
  files = [await rig.save(0, [0, 1]), await rig.save(1, [2, 3])];
  cut = { timeline: 3, round: ROUND, files };
  rig.putCut(cut);
});

const pathOf = ({ index, uuid }: CutFile): string => checkpointPath({ folder: FOLDER, index }, uuid);

function expected(...units: number[]): unknown {
  const parameters = emptyParameters(JOB);
  for (const shard of shardsOf(...units)) parameters.addShard(shard);
  fill(parameters, JOB, IDS, ROUND);
  return contentOf(parameters, JOB);
}

it.each([true, false])('units come from files of several pservers (named by entries: %s)', async (isNamed) => {
  if (!isNamed) for (const { index } of files) rig.forgetEntry(index);
  const loaded = await loadCut(rig.loading, cut, shardsOf(1, 2));
  expect(contentOf(rig.parameters, JOB)).toEqual(expected(1, 2));
  expect([...loaded!.rounds]).toEqual([1, 2].map((unit) => [unit, { round: ROUND, metrics: [] }]));
  expect([...loaded!.seqs].sort(([a], [b]) => a - b)).toEqual(shardsOf(1, 2).map((shard) => [shard, ROUND]));
  expect(loaded!.ledgers.get(5)).toEqual(Uint8Array.of(5));
  expect(loaded!.rests.size).toBe(0);
});

it('a file that has none of the units is not waited for', async () => {
  rig.disk.remove(pathOf(files[1]!));
  await loadCut(rig.loading, cut, shardsOf(0));
  expect(rig.waits).toEqual([undefined]);
});

it('a file that may have a unit is waited for, and named by its pserver', async () => {
  rig.forgetEntry(1);
  const content = rig.disk.content(pathOf(files[1]!))!;
  await rig.disk.remove(pathOf(files[1]!));
  const loading = loadCut(rig.loading, cut, shardsOf(1, 2));
  await settled();
  expect(rig.waits).toEqual([expect.stringMatching(/^the checkpoint files of pserver 1: /)]);
  const file = await rig.disk.create(pathOf(files[1]!));
  await file.write(content, 0);
  await rig.clock.advance(10_000);
  expect((await loading)!.rounds.size).toBe(2);
});

it('a unit is found in a file that is here, though another one of the cut that has it is missing', async () => {
  const twice = await rig.save(2, [2, 3]);
  await rig.disk.remove(pathOf(files[1]!));
  const both = { ...cut, files: [...files, twice] };
  rig.putCut(both);
  const loaded = await loadCut(rig.loading, both, shardsOf(0, 2));
  expect(contentOf(rig.parameters, JOB)).toEqual(expected(0, 2));
  expect([loaded!.files, rig.waits]).toEqual([[twice.uuid], [undefined]]);
});

it('when the timeline has risen, nothing is waited for any more', async () => {
  await rig.disk.remove(pathOf(files[1]!));
  const loading = loadCut(rig.loading, cut, shardsOf(2));
  await settled();
  rig.putCut({ ...cut, timeline: 4 });
  await rig.clock.advance(10_000);
  expect(await loading).toBeUndefined();
});

it.each([
  ['is damaged', async () => rig.disk.flip(pathOf(files[1]!), 5_000, 1)],
  [
    'is given up',
    async () => {
      await rig.disk.remove(pathOf(files[1]!));
      rig.put(rig.keys.forgotten(INDEX), JSON.stringify({ files: [files[1]!.uuid] }));
    },
  ],
  [
    'is of another round',
    async () => {
      const other = await rig.save(1, [2, 3], ROUND + 1);
      cut = { ...cut, files: [files[0]!, other] };
      rig.putCut(cut);
    },
  ],
  [
    'lacks a unit',
    async () => {
      cut = { ...cut, files: [files[0]!] };
      rig.putCut(cut);
    },
  ],
])('all go further back when a file of the cut %s, and nothing of it stays', async (_, spoil) => {
  await spoil();
  expect(await loadCut(rig.loading, cut, shardsOf(0, 2))).toBeUndefined();
  expect(rig.cut()).toEqual({ timeline: 4, round: 0, files: [] });
  expect(rig.parameters.shards()).toEqual([]);
});

it('round 0 needs no file', async () => {
  const loaded = await loadCut(rig.loading, { timeline: 4, round: 0, files: [] }, shardsOf(3));
  expect([...loaded!.rounds]).toEqual([[3, { round: 0, metrics: [] }]]);
  expect(rig.parameters.shards()).toEqual(shardsOf(3));
});
