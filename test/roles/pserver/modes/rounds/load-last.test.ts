/** The exact last state of units, in a file that comes and goes. */
import { expect, it, vi } from 'vitest';
import type { CutFile } from '../../../../../src/checkpoint/registry/cut.ts';
import { encodeParting } from '../../../../../src/checkpoint/registry/partings.ts';
import { loadLast } from '../../../../../src/roles/pserver/modes/rounds/load-last.ts';
import { CutRig, FOLDER, ROUND, shardsOf } from './cut-rig.ts';

const formerOf = ({ index, uuid }: CutFile) => ({
  primary: { index, token: '7' },
  inSync: [{ index, token: '7' }],
  rest: { index, uuid },
  units: [0, 1],
});

/** Opens of the file that find nothing, counted from the first one. */
function failOpens(rig: CutRig, fails: readonly number[]): void {
  const open = rig.disk.open.bind(rig.disk);
  let opens = 0;
  vi.spyOn(rig.disk, 'open').mockImplementation((path) => {
    opens += 1;
    return fails.includes(opens) ? Promise.reject(Object.assign(new Error(path), { code: 'ENOENT' })) : open(path);
  });
}

it.each([
  { what: 'is back at once', fails: [2] },
  { what: 'is away for a while, with its folder', fails: [2, 3, 4] },
])('a file that vanished since it was seen and $what is loaded, and not taken for lost', async ({ fails }) => {
  const rig = new CutRig();
  const file = await rig.save(0, [0, 1]);
  failOpens(rig, fails);
  const loading = loadLast(rig.loading, formerOf(file), { timeline: 0, round: 0, files: [] });
  for (let step = 0; step < 40; step++) await rig.clock.advance(500);
  const loaded = await loading;
  expect([...loaded!.rounds].map(([unit, { round }]) => [unit, round])).toEqual([
    [0, ROUND],
    [1, ROUND],
  ]);
  expect(rig.parameters.shards()).toEqual(shardsOf(0, 1));
});

it('a parting snapshot of units at two rounds is several files, and each unit joins where it was', async () => {
  const rig = new CutRig();
  const files = [await rig.write(0, [0], ROUND), await rig.write(0, [1], ROUND + 1)] as const;
  rig.put(rig.keys.parting(7n), encodeParting({ index: 0, files: [...files] }));
  const primary = { index: 0, token: '7' };
  const former = { primary, inSync: [primary], rest: undefined, units: [0, 1] };
  const loaded = await loadLast(rig.loading, former, { timeline: 0, round: 0, files: [] });
  expect([...loaded!.rounds].map(([unit, { round }]) => [unit, round])).toEqual([
    [0, ROUND],
    [1, ROUND + 1],
  ]);
  expect(rig.parameters.shards()).toEqual(shardsOf(0, 1));
});

it('a damaged parting snapshot is left, where another process has written the units down', async () => {
  const rig = new CutRig();
  const further = await rig.write(0, [0, 1], ROUND + 1);
  const other = await rig.write(1, [0, 1], ROUND);
  rig.put(rig.keys.parting(7n), encodeParting({ index: 0, files: [further] }));
  rig.put(rig.keys.parting(8n), encodeParting({ index: 1, files: [other] }));
  const path = `${FOLDER}/0/${further.uuid}`;
  rig.disk.flip(path, rig.disk.content(path)!.length - 100);
  const [primary, member] = [
    { index: 0, token: '7' },
    { index: 1, token: '8' },
  ] as const;
  const former = { primary, inSync: [primary, member], rest: undefined, units: [0, 1] };
  const loaded = await loadLast(rig.loading, former, { timeline: 0, round: 0, files: [] });
  expect([...loaded!.rounds].map(([unit, { round }]) => [unit, round])).toEqual([
    [0, ROUND],
    [1, ROUND],
  ]);
});
