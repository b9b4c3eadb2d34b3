/** The master takes cuts: all files or none, and never over a rollback. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Cut } from '../../../../src/checkpoint/registry/cut.ts';
import { rolledBack } from '../../../../src/checkpoint/registry/cut.ts';
import { raiseTimeline } from '../../../../src/cluster/placement/cut-view.ts';
import { type Cuts, createCuts } from '../../../../src/roles/master/rounds/cuts.ts';
import { stateOf } from '../tasks/service-rig.ts';
import { RoundsRig } from './service-rig.ts';

const never = new AbortController().signal;
let rig: RoundsRig;
afterEach(() => expect(rig.master.ends).toEqual([]));

async function begin(checkpoint: Record<string, unknown> = {}): Promise<Cuts> {
  rig = new RoundsRig(checkpoint);
  await rig.master.clock.advance(0);
  return cutsOf(rig);
}

const cutsOf = ({ master, cuts, plan, record, group }: RoundsRig): Cuts =>
  createCuts({
    context: master.context,
    fence: master.fence,
    stopSignal: master.stopSignal.signal,
    onFatal: (error) => master.ends.push(error),
    stored: cuts,
    plan,
    until: plan.firstOf(record.job.training.passes),
    record,
    group,
  });

const later = (ms: number): Promise<void> => rig.master.clock.advance(ms);
const stored = (): Promise<Cut | undefined> => rig.stored() as Promise<Cut | undefined>;

/** Rounds go on, one every 50 ms. */
async function goOn(cuts: Cuts, from: number, to: number): Promise<void> {
  for (let round = from; round <= to; round++) {
    await later(50);
    cuts.observe(round);
  }
  await later(0);
}

describe('a cut', () => {
  it('is complete when every pserver has published its file, and keeps the one before', async () => {
    const cuts = await begin({ intervalMs: 500 });
    await goOn(cuts, 0, 11);
    const first = await stored();
    expect(first).toMatchObject({ timeline: 0, files: [{ index: 0 }, { index: 1 }] });
    expect(first).not.toHaveProperty('before');
    await goOn(cuts, 12, 22);
    const { round, files } = first!;
    expect(await stored()).toMatchObject({ before: { round, files } });
    expect(cuts.counts()).toEqual({ complete: 2, givenUp: 0 });
  });

  it('that a pserver has passed is announced again, further ahead', async () => {
    const cuts = await begin({ intervalMs: 500 });
    const [first, second] = rig.pservers;
    second!.cutAnswers.push('declined');
    await goOn(cuts, 0, 9);
    expect(await stored()).toBeUndefined();
    expect(first!.cutsAsked).toHaveLength(1);
    await goOn(cuts, 10, 13);
    const [one, other] = first!.cutsAsked;
    expect(other!.round).toBeGreaterThan(one!.round + 1);
    expect(await stored()).toMatchObject({ round: other!.round });
  });

  it('whose answer is lost is asked for again, and is the same', async () => {
    const cuts = await begin({ intervalMs: 500 });
    rig.pservers[1]!.cutAnswers.push('lost');
    await goOn(cuts, 0, 11);
    await later(100);
    const asked = rig.pservers[0]!.cutsAsked;
    expect(asked).toHaveLength(2);
    expect(asked[0]).toEqual(asked[1]);
    expect(await stored()).toMatchObject({ round: asked[0]!.round });
  });

  it('that a disk does not take is tried again at the next occasion', async () => {
    const cuts = await begin({ intervalMs: 500 });
    rig.pservers[1]!.cutAnswers.push('notWritten');
    await goOn(cuts, 0, 11);
    expect(await stored()).toBeUndefined();
    expect(rig.master.log.messages.join('\n')).toMatch(/the cut of round \d+ was not written: pserver 1: disk full/);
    await goOn(cuts, 12, 18);
    expect(await stored()).toBeUndefined();
    await goOn(cuts, 19, 24);
    expect(await stored()).toBeDefined();
  });

  it('whose completion has an unknown outcome is looked for', async () => {
    const cuts = await begin({ intervalMs: 500 });
    rig.master.troubled.next('unknownLanded');
    await goOn(cuts, 0, 12);
    await later(100);
    expect(await stored()).toBeDefined();
    expect(cuts.counts()).toEqual({ complete: 1, givenUp: 0 });
  });
});

describe('a cut planned before the last one has come back from the store', () => {
  it('is complete, and so are those after it', async () => {
    const cuts = await begin();
    await goOn(cuts, 0, 5);
    const view = rig.cuts;
    const first = view.current();
    const behind = vi.spyOn(view, 'current').mockImplementation(() => first);
    const one = await cuts.request(never);
    await goOn(cuts, 6, 12);
    const other = await cuts.request(never);
    behind.mockRestore();
    expect(other!.round).toBeGreaterThan(one!.round);
    expect(await stored()).toMatchObject({ round: other!.round, before: { round: one!.round } });
    await goOn(cuts, 13, 20);
    const last = await cuts.request(never);
    expect(await stored()).toMatchObject({ round: last!.round, before: { round: other!.round } });
    expect(cuts.counts()).toEqual({ complete: 3, givenUp: 0 });
  });
});

describe('when all are set back', () => {
  it('a cut that is being taken is abandoned, and taken again on the other timeline', async () => {
    const cuts = await begin({ intervalMs: 500 });
    rig.pservers[1]!.cutAnswers.push('wait');
    await goOn(cuts, 0, 11);
    expect(cuts.running()).toBeDefined();
    await raiseTimeline(rig.master.context, rig.master.fence, rolledBack);
    await later(0);
    expect(cuts.running()).toBeUndefined();
    expect(await stored()).toEqual({ timeline: 1, round: 0, files: [] });
    for (const pserver of rig.pservers) pserver.set({ timeline: 1 });
    await goOn(cuts, 1, 11);
    expect(await stored()).toMatchObject({ timeline: 1, files: [{ index: 0 }, { index: 1 }] });
  });

  it('files of before do not become the cut, whenever it is heard of', async () => {
    const cuts = await begin({ intervalMs: 500 });
    // The rollback lands between the last file and the completion, which is on its way.
    rig.master.troubled.hold();
    await goOn(cuts, 0, 11);
    const value = JSON.stringify({ timeline: 1, round: 0, files: [] });
    rig.master.troubled.data.txn({ if: [], then: [{ put: rig.master.context.keys.cut, value }] });
    rig.master.troubled.releaseHold();
    await later(0);
    expect(await stored()).toEqual({ timeline: 1, round: 0, files: [] });
    expect(cuts.counts()).toEqual({ complete: 0, givenUp: 1 });
  });
});

describe('on demand', () => {
  it('answers with the files; another one in that time is ignored', async () => {
    const cuts = await begin();
    await goOn(cuts, 0, 5);
    const asked = cuts.request(never);
    expect(await cuts.request(never)).toBeUndefined();
    const taken = await asked;
    expect(taken).toMatchObject({ timeline: 0, files: [{ index: 0, bytes: 100 }, { index: 1 }] });
    expect(await stored()).toMatchObject({ round: taken!.round });
    await goOn(cuts, 6, 10);
    expect(await cuts.request(never)).toBeDefined();
  });

  it('has what is wanted, and each other cut what is due', async () => {
    const cuts = await begin({ intervalMs: 500 });
    await goOn(cuts, 0, 5);
    const asked = cuts.request(never, 'delta');
    await goOn(cuts, 6, 8);
    await asked;
    await goOn(cuts, 9, 20);
    for (const { cutsAsked } of rig.pservers) expect(cutsAsked.map(({ mode }) => mode)).toEqual(['delta', undefined]);
  });

  it('says that it was not written', async () => {
    const cuts = await begin();
    await goOn(cuts, 0, 5);
    rig.pservers[0]!.cutAnswers.push('notWritten');
    expect(await stateOf(cuts.request(never))).toBe('refused: CheckpointNotWritten');
  });

  it('who has hung up does not keep others from asking', async () => {
    const cuts = await begin();
    const gone = new AbortController();
    const asked = stateOf(cuts.request(gone.signal));
    gone.abort();
    expect(await asked).toBe('refused: Interrupted');
    const again = cuts.request(never);
    await goOn(cuts, 0, 1);
    expect(await again).toBeDefined();
  });
});

describe('the last cut', () => {
  it('is of the last round, tried until the disks take it', async () => {
    const cuts = await begin();
    rig.pservers[0]!.cutAnswers.push('notWritten', 'notWritten');
    const last = cuts.last(never);
    await later(1_000);
    const rounds = rig.plan.firstOf(2);
    expect(await last).toMatchObject({ round: rounds, files: [{ index: 0 }, { index: 1 }] });
    expect(new Set(rig.pservers[0]!.cutsAsked.map(({ mode }) => mode))).toEqual(new Set(['base']));
    expect(await stored()).toMatchObject({ round: rounds });
  });

  it('asked for again, as by the next master, changes nothing', async () => {
    const first = await (await begin()).last(never);
    await later(100);
    const again = await cutsOf(rig).last(never);
    expect(again.modRevision).toBe(first.modRevision);
    expect(again.files).toEqual(first.files);
  });

  it('ends when all are set back', async () => {
    const cuts = await begin();
    rig.pservers[0]!.cutAnswers.push('wait');
    const last = cuts.last(never);
    last.catch(() => {});
    await later(0);
    await raiseTimeline(rig.master.context, rig.master.fence, rolledBack);
    await later(0);
    expect(await stateOf(last)).toBe('refused: Interrupted');
  });
});

describe('raising the timeline', () => {
  it('counts once when its outcome is unknown', async () => {
    await begin();
    rig.master.troubled.next('unknownLanded');
    const raised = raiseTimeline(rig.master.context, rig.master.fence, rolledBack);
    await later(1_000);
    expect((await raised).cut.timeline).toBe(1);
    expect(await stored()).toMatchObject({ timeline: 1 });
  });

  it('asks again what is to be done when the cut has changed in the meantime', async () => {
    await begin();
    const seen: number[] = [];
    const { master } = rig;
    const raised = await raiseTimeline(master.context, master.fence, (cut) => {
      seen.push(cut.timeline);
      if (cut.timeline > 0) return undefined;
      const value = JSON.stringify({ ...cut, timeline: 5 });
      master.troubled.data.txn({ if: [], then: [{ put: master.context.keys.cut, value }] });
      return rolledBack(cut);
    });
    expect(seen).toEqual([0, 5]);
    expect(raised.cut.timeline).toBe(5);
  });
});
