/** Units without a primary in sync mode: in their exact last state, or as the cut has them. */
import { beforeEach, expect, it, vi } from 'vitest';
import type { CheckpointEntry } from '../../../../../src/checkpoint/registry/entry.ts';
import { type Head, takenBy } from '../../../../../src/cluster/placement/heads.ts';
import { createSignal } from '../../../../../src/cluster/waiting.ts';
import { OwnedHeads } from '../../../../../src/roles/pserver/held/owned-heads.ts';
import { OwnedShards } from '../../../../../src/roles/pserver/held/owned-shards.ts';
import type { LoadedUnits } from '../../../../../src/roles/pserver/modes/rounds/load.ts';
import {
  type Joined,
  RoundTaker,
  type RoundTakerOptions,
} from '../../../../../src/roles/pserver/modes/rounds/unit-taker.ts';
import type { OrphanHead } from '../../../../../src/roles/pserver/take/take-units.ts';
import { settled } from '../../../master/tasks/service-rig.ts';
import { CutRig, INDEX, JOB, ROUND, shardsOf, UNITS } from './cut-rig.ts';

const TIMELINE = 3;
const GONE = { index: 1, token: '999' };
const SIGNAL = new AbortController().signal;

let rig: CutRig;
let owned: OwnedShards;
let state: Joined;
let joined: { units: number[]; loaded: LoadedUnits }[];
let taker: RoundTaker;
let seenTimeline: number;
/** That are due to this pserver. */
let orphans: OrphanHead[];
const cutSeen = createSignal();

beforeEach(async () => {
  rig = new CutRig();
  const files = [await rig.save(0, [0, 1]), await rig.save(1, [2, 3])];
  rig.putCut({ timeline: TIMELINE, round: ROUND, files });
  const { context, fence, loading, parameters } = rig;
  const heads = new OwnedHeads({ context, fence, signal: SIGNAL }, []);
  const job = { spec: JOB.parameters, shards: JOB.shards, units: UNITS, tasks: 4 };
  owned = new OwnedShards(job, heads, { parameters, ledgers: new Map(), seqs: new Map() });
  [joined, orphans] = [[], []];
  const add: Joined['add'] = (taken, loaded) => void joined.push({ units: taken.map(({ unit }) => unit), loaded });
  state = { timeline: TIMELINE, shards: owned, add };
  seenTimeline = TIMELINE;
  taker = new RoundTaker({
    ...{ context, fence, index: INDEX, loading, lease: { lost: SIGNAL }, stopSignal: SIGNAL },
    record: { units: UNITS, job: { cluster: { shards: JOB.shards } } },
    cuts: { changed: cutSeen, current: () => ({ cut: { ...rig.cut(), timeline: seenTimeline }, modRevision: 1n }) },
    orphans: { view: createSignal(), isOrphan: () => true, due: () => orphans },
  } as unknown as RoundTakerOptions);
});

/** Units that were led, and where their last state is. */
function orphansOf(units: readonly number[], rest?: Head['rest']): OrphanHead[] {
  return units.map((unit) => {
    const head = takenBy(GONE, undefined, rest);
    rig.put(rig.keys.head(unit), JSON.stringify(head));
    return { unit, modRevision: rig.data.get(rig.keys.head(unit))!.modRevision, head };
  });
}

const headOf = (unit: number): Head => JSON.parse(rig.data.get(rig.keys.head(unit))!.value) as Head;
const raise = (): void => rig.putCut({ ...rig.cut(), timeline: rig.cut().timeline + 1 });
/** As this pserver sees the cut. */
function see(): void {
  seenTimeline = rig.cut().timeline;
  cutSeen.notify();
}
const unitsJoined = (): number[] => joined.flatMap(({ units }) => units).sort();

async function takeUntilSeen(due: readonly OrphanHead[]): Promise<void> {
  const taking = taker.take(state, due, SIGNAL);
  await settled();
  await settled();
  see();
  await taking;
}

it('a unit in its exact last state joins where it is, and no pserver goes back', async () => {
  const { uuid } = await rig.save(1, [2, 3], ROUND + 2, TIMELINE);
  await taker.take(state, orphansOf([2, 3], { index: 1, uuid }), SIGNAL);
  expect(rig.cut().timeline).toBe(TIMELINE);
  expect(unitsJoined()).toEqual([2, 3]);
  expect(joined[0]!.loaded.rounds.get(2)).toEqual({ round: ROUND + 2, metrics: [] });
  expect(headOf(2)).toMatchObject({ epoch: 2, primary: { index: INDEX }, rest: { index: 1, uuid } });
});

it('says at once which units it takes, so that no other pserver moves one of them here, until it has them', async () => {
  const { uuid } = await rig.save(1, [2, 3], ROUND, TIMELINE);
  const isTaking = (): boolean[] => [1, 2, 3].map((unit) => taker.isTaking(unit));
  const taking = taker.take(state, orphansOf([2, 3], { index: 1, uuid }), SIGNAL);
  expect(isTaking()).toEqual([false, true, true]);
  await taking;
  expect([isTaking(), unitsJoined()]).toEqual([
    [false, false, false],
    [2, 3],
  ]);
});

it.each([
  ['of another timeline', TIMELINE - 1, true],
  ['not the last one', TIMELINE, false],
])(
  'all go back once for units whose file is %s, and then they join as the cut has them',
  async (_, timeline, isRest) => {
    const { uuid } = await rig.save(1, [2, 3], ROUND + 2, timeline);
    const due = orphansOf([2, 3], isRest ? { index: 1, uuid } : undefined);
    await takeUntilSeen(due);
    expect([rig.cut().timeline, joined, rig.parameters.shards()]).toEqual([TIMELINE + 1, [], []]);
    state = { ...state, timeline: TIMELINE + 1 };
    const entry = JSON.parse(rig.data.get(rig.keys.checkpoint(1))!.value) as CheckpointEntry;
    expect(entry.uuid).toBe(uuid);
    await taker.take(state, due, SIGNAL);
    expect([rig.cut().timeline, unitsJoined()]).toEqual([TIMELINE + 1, [2, 3]]);
    expect(joined[0]!.loaded.rounds.get(3)!.round).toBe(ROUND);
    expect(headOf(2).rest).toBeUndefined();
  },
);

it('all have gone back already since the unit had no primary: the timeline is not raised again', async () => {
  const due = orphansOf([2]);
  // Its files are not here, while another pserver raises the timeline for what it takes.
  const { uuid } = rig.cut().files[1]!;
  const away = await rig.putAway(1, uuid);
  const taking = taker.take(state, due, SIGNAL);
  await settled();
  expect(rig.waits).toEqual([expect.stringMatching(/^the checkpoint files of pserver 1: /)]);
  raise();
  await away.putBack();
  await rig.clock.advance(10_000);
  await settled();
  expect(rig.cut().timeline).toBe(TIMELINE + 1);
  see();
  await taking;
  expect(joined).toEqual([]);
});

it('a timeline that rose before the unit lost its primary does not count', async () => {
  raise();
  const due = orphansOf([2]);
  // This pserver sees it late.
  await takeUntilSeen(due);
  expect([rig.cut().timeline, joined]).toEqual([TIMELINE + 1, []]);
  state = { ...state, timeline: TIMELINE + 1 };
  await takeUntilSeen(due);
  expect([rig.cut().timeline, joined]).toEqual([TIMELINE + 2, []]);
});

it('a timeline that rose while the owner lived does not count, even if the owner dies between two reads', async () => {
  rig.put(rig.keys.ps(1), 'localhost:1');
  const owner = { index: 1, token: String(rig.data.get(rig.keys.ps(1))!.createRevision) };
  rig.put(rig.keys.head(2), JSON.stringify(takenBy(owner, undefined)));
  const due = [{ unit: 2, modRevision: rig.data.get(rig.keys.head(2))!.modRevision, head: headOf(2) }];
  const txn = rig.context.store.txn.bind(rig.context.store);
  vi.spyOn(rig.context.store, 'txn').mockImplementationOnce(async (...asked) => {
    const read = await txn(...asked);
    raise();
    rig.data.txn({ if: [], then: [{ delete: rig.keys.ps(1) }] });
    return read;
  });
  const taking = taker.take(state, due, SIGNAL);
  await settled();
  await rig.clock.advance(10_000);
  see();
  await taking;
  state = { ...state, timeline: TIMELINE + 1 };
  await takeUntilSeen(due);
  expect([rig.cut().timeline, joined]).toEqual([TIMELINE + 2, []]);
});

it('a unit that was handed over to another pserver, which the view does not show yet, costs no way back', async () => {
  const due = orphansOf([2]);
  rig.put(rig.keys.head(2), JSON.stringify(takenBy({ index: 0, token: '5' }, headOf(2))));
  const taking = taker.take(state, due, SIGNAL);
  await settled();
  await rig.clock.advance(10_000);
  await taking;
  expect([rig.cut().timeline, joined]).toEqual([TIMELINE, []]);
});

it('a unit whose owner is alive after all is not taken, and no pserver goes back for it', async () => {
  rig.put(rig.keys.ps(1), 'localhost:1');
  const token = String(rig.data.get(rig.keys.ps(1))!.createRevision);
  const [one] = orphansOf([2]);
  const head = { ...one!.head!, primary: { index: 1, token } };
  const taking = taker.take(state, [{ ...one!, head }], SIGNAL);
  await settled();
  await rig.clock.advance(10_000);
  await taking;
  expect([rig.cut().timeline, joined]).toEqual([TIMELINE, []]);
});

it('a process that leaves gives up what it takes, and takes nothing until it stays after all', async () => {
  const { uuid } = await rig.save(1, [2, 3], ROUND, TIMELINE);
  const away = await rig.putAway(1, uuid);
  const due = orphansOf([2, 3], { index: 1, uuid });
  orphans = due;
  const taking = taker.take(state, due, SIGNAL);
  await settled();
  expect(taker.due(state)).toEqual(due);
  const holding = taker.hold();
  expect(taker.due(state)).toEqual([]);
  await Promise.all([taking, holding]);
  expect([joined, rig.parameters.shards(), headOf(2).primary]).toEqual([[], [], GONE]);
  await away.putBack();
  taker.release();
  await taker.take(state, taker.due(state), SIGNAL);
  expect(unitsJoined()).toEqual([2, 3]);
});

it('a unit that is loaded when the process leaves is not taken', async () => {
  const { uuid } = await rig.save(1, [2, 3], ROUND, TIMELINE);
  const open = rig.disk.open.bind(rig.disk);
  vi.spyOn(rig.disk, 'open').mockImplementation((path) => {
    void taker.hold();
    return open(path);
  });
  await taker.take(state, orphansOf([2, 3], { index: 1, uuid }), SIGNAL);
  expect([joined, rig.parameters.shards(), headOf(2).primary]).toEqual([[], [], GONE]);
});

it('a unit that never had a primary starts at round 0 while no other one is beyond it', async () => {
  rig.putCut({ timeline: TIMELINE, round: 0, files: [] });
  await taker.take(state, [{ unit: 1, modRevision: 0n, head: undefined }], SIGNAL);
  expect([rig.cut().timeline, unitsJoined()]).toEqual([TIMELINE, [1]]);
  expect(joined[0]!.loaded.rounds.get(1)!.round).toBe(0);
});

it('units that another pserver was quicker to take do not stay in memory', async () => {
  const { uuid } = await rig.save(1, [2, 3], ROUND, TIMELINE);
  const due = orphansOf([2, 3], { index: 1, uuid });
  rig.put(rig.keys.head(3), JSON.stringify(takenBy({ index: 0, token: '5' }, due[1]!.head)));
  const taking = taker.take(state, due, SIGNAL);
  await settled();
  await rig.clock.advance(10_000);
  await taking;
  expect(unitsJoined()).toEqual([2]);
  // The state that is played here does not own it.
  expect(rig.parameters.shards().filter((shard) => shardsOf(3).includes(shard))).toEqual([]);
});
