/** What the master knows of where the pservers stand. */
import { beforeEach, describe, expect, it } from 'vitest';
import { rolledBack } from '../../../../src/checkpoint/registry/cut.ts';
import { raiseTimeline } from '../../../../src/cluster/placement/cut-view.ts';
import { waitReason } from '../../../../src/roles/master/rounds/describe.ts';
import type { RoundsState } from '../../../../src/roles/master/rounds/state.ts';
import { createStuckJudge } from '../../../../src/roles/master/rounds/stuck.ts';
import { type RoundPosition, type RoundsWatch, watchRounds } from '../../../../src/roles/master/rounds/watch.ts';
import { RoundsRig } from './service-rig.ts';

let rig: RoundsRig;
let watch: RoundsWatch;
let heard: RoundPosition[];

beforeEach(() => {
  rig = new RoundsRig();
  heard = [];
  watch = watchRounds({
    ...rig,
    context: rig.master.context,
    stored: rig.cuts,
    onPosition: (position) => heard.push(position),
    onFatal: (error) => rig.master.ends.push(error),
  });
});

const later = (ms: number): Promise<void> => rig.master.clock.advance(ms);
const [first, second] = [0, 1] as const;

describe('where the rounds stand', () => {
  it('is the lowest version, with the lanes that those who have it wait for', async () => {
    rig.pservers[first]!.set({ version: 4, missing: [1] });
    rig.pservers[second]!.set({ version: 5, missing: [0, 1] });
    await later(100);
    expect(watch.current()).toEqual({ timeline: 0, version: 4, highest: 5, missing: [1] });
    rig.pservers[first]!.set({ version: 5, missing: [0] });
    await later(100);
    expect(watch.current()).toEqual({ timeline: 0, version: 5, highest: 5, missing: [0, 1] });
    expect(heard.at(-1)).toEqual(watch.current());
  });

  it('is heard of as soon as a version is there, and a pserver is not asked all the time', async () => {
    await later(10_000);
    const { asked } = rig.pservers[first]!;
    expect(asked).toBeLessThan(15);
    rig.all({ version: 1 });
    await later(0);
    expect(watch.current()).toMatchObject({ version: 1 });
    for (let version = 2; version < 1_000; version++) {
      rig.all({ version });
      await later(1);
    }
    expect(rig.pservers[first]!.asked - asked).toBeLessThan(40);
    await later(100);
    expect(watch.current()).toMatchObject({ version: 999 });
  });

  it('has the lanes that are missing now when somebody looks', async () => {
    await later(100);
    rig.all({ missing: [1] });
    await later(0);
    expect(watch.current()).toMatchObject({ missing: [0, 1] });
    watch.look();
    await later(0);
    expect(watch.current()).toMatchObject({ missing: [1] });
  });

  it('is not known while a pserver does not answer', async () => {
    await later(100);
    rig.pservers[second]!.set({ isThere: false });
    await later(2_000);
    expect(watch.current()).toBeUndefined();
    expect(watch.pservers()).toHaveLength(1);
    rig.pservers[second]!.set({ isThere: true });
    await later(2_000);
    expect(watch.current()).toMatchObject({ version: 0 });
  });

  it('is waited for as suspended pservers, not as missing ones, while these say so', async () => {
    const reason = (): string | undefined =>
      waitReason({ watch, service: { missingTrainers: () => 0 } } as unknown as RoundsState);
    await later(100);
    rig.pservers[second]!.set({ isSuspended: true });
    await later(2_000);
    expect(watch.current()).toBeUndefined();
    expect(reason()).toBe('pserver 1: suspended, as the store has not renewed the lease');
    rig.pservers[second]!.set({ isSuspended: false, isThere: false });
    await later(2_000);
    expect(reason()).toBe('a pserver is missing, or all are being set back to the cut');
    rig.pservers[second]!.set({ isThere: true });
    await later(2_000);
    expect(watch.suspended()).toEqual([]);
    expect(watch.current()).toMatchObject({ version: 0 });
  });

  it('goes back only with another owner of an index', async () => {
    rig.all({ version: 7 });
    await later(100);
    rig.startAnew(second, { version: 6 });
    await later(100);
    expect(watch.current()).toMatchObject({ version: 6, highest: 7 });
  });

  it('is of the units that each pserver leads now: what one said of others does not count', async () => {
    rig.pservers[first]!.set({ version: 5 });
    rig.pservers[second]!.set({ version: 4 });
    await later(100);
    // The unit that is behind moves to the other pserver.
    rig.pservers[first]!.set({ version: 4, missing: [1] });
    rig.pservers[second]!.set({ version: 5 });
    rig.move(first, second);
    expect(heard.at(-1)).toMatchObject({ version: 4 });
    await later(2_000);
    expect(watch.current()).toEqual({ timeline: 0, version: 4, highest: 5, missing: [1] });
    expect(heard.every(({ version }) => version <= 4)).toBe(true);
    const { asked } = rig.pservers[first]!;
    await later(10_000);
    expect(rig.pservers[first]!.asked - asked).toBeLessThan(15);
  });

  it('is not known until all are on the timeline of the store', async () => {
    rig.all({ version: 7 });
    await later(100);
    await raiseTimeline(rig.master.context, rig.master.fence, rolledBack);
    await later(100);
    expect(watch.current()).toBeUndefined();
    rig.pservers[first]!.set({ timeline: 1, version: 0 });
    await later(2_000);
    expect(watch.current()).toBeUndefined();
    rig.pservers[second]!.set({ timeline: 1, version: 0 });
    await later(2_000);
    expect(watch.current()).toMatchObject({ timeline: 1, version: 0 });
  });
});

describe('a round that is said to be stuck', () => {
  const report = (round: number, timeline = 0) => ({
    type: 'roundStuck' as const,
    job: '',
    batchPlanId: '',
    trainer: 'a',
    timeline,
    round,
  });
  const judge = (...[round, timeline]: Parameters<typeof report>): Promise<void> =>
    createStuckJudge({
      ...rig,
      context: rig.master.context,
      stored: rig.cuts,
      fence: rig.master.fence,
      stopSignal: rig.master.stopSignal.signal,
    })(report(round, timeline));

  it('is so when a pserver is behind what another one can still give: all go back', async () => {
    rig.pservers[first]!.set({ version: 5, oldest: 5 });
    rig.pservers[second]!.set({ version: 4, oldest: 4 });
    await later(100);
    await judge(4);
    expect(await rig.stored()).toMatchObject({ timeline: 1 });
    await later(100);
    // The same report once more is of the timeline before.
    await judge(4);
    expect(await rig.stored()).toMatchObject({ timeline: 1 });
  });

  it('is not so while the version is still there', async () => {
    rig.pservers[first]!.set({ version: 5, oldest: 4 });
    rig.pservers[second]!.set({ version: 4, oldest: 4 });
    await later(100);
    await judge(4);
    expect(await rig.stored()).toBeUndefined();
  });

  it('is not so when the one that was behind has come along since', async () => {
    rig.pservers[first]!.set({ version: 5, oldest: 5 });
    const behind = rig.pservers[second]!;
    behind.set({ version: 4, oldest: 4 });
    await later(100);
    const answer = behind.rounds.bind(behind);
    behind.rounds = async (...ask) => {
      const standing = await answer(...ask);
      behind.set({ version: 5, oldest: 5 });
      return standing;
    };
    await judge(4);
    expect(await rig.stored()).toBeUndefined();
  });
});
