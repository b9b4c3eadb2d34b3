/** Units whose copies are from before all went back to a cut: loaded from it, once no other process has such a copy. */
import { expect, it } from 'vitest';
import { takenBy } from '../../../../../src/cluster/placement/heads.ts';
import { createSignal } from '../../../../../src/cluster/waiting.ts';
import type { OwnedHead } from '../../../../../src/roles/pserver/held/owned-heads.ts';
import { OutdatedUnits } from '../../../../../src/roles/pserver/modes/rounds/outdated-units.ts';
import type { TimelineState } from '../../../../../src/roles/pserver/modes/rounds/timeline.ts';
import { CutRig, ROUND, shardsOf } from './cut-rig.ts';

const TIMELINE = 1;
const ME = { index: 0, token: '7' };

const headAt = (unit: number, epoch: number): OwnedHead => {
  return { unit, head: takenBy(ME, { epoch: epoch - 1 }), modRevision: BigInt(epoch) };
};

it('they join under the head by which they are led alone', async () => {
  const rig = new CutRig();
  rig.putCut({ timeline: TIMELINE, round: ROUND, files: [await rig.save(0, [0, 1]), await rig.save(1, [2, 3])] });
  const { fence, loading, parameters } = rig;
  const cuts = { changed: createSignal(), current: () => ({ cut: rig.cut(), modRevision: 1n }), cancel: () => {} };
  const units = new OutdatedUnits({ fence, cuts, loading });
  units.put(headAt(2, 4));
  const added: OwnedHead[] = [];
  const state = {
    shards: { parameters, shardsOf: (unit: number) => shardsOf(unit) },
    add: (heads: readonly OwnedHead[]) => void added.push(...heads),
  } as unknown as TimelineState;
  const others = Promise.withResolvers<void>();
  const copies = { alone: () => others.promise, headOf: (unit: number) => headAt(unit, 5) };
  const loadingUnits = units.load(state, rig.stop.signal, copies);
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  expect([added, units.has(2)]).toEqual([[], true]);
  others.resolve();
  await loadingUnits;
  expect(added).toEqual([headAt(2, 5)]);
  expect([parameters.shards(), units.isEmpty]).toEqual([shardsOf(2), true]);
});
