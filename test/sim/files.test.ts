/** Whole jobs whose checkpoint folders fill up or are absent. */
import { expect, test } from 'vitest';
import { forgetFiles } from '../../src/checkpoint/registry/forgotten.ts';
import { KEYS } from './job-keys.ts';
import { Scenario } from './scenario.ts';

const OFTEN = { intervalMs: 50, everyPasses: undefined };
const TIMEOUT_MS = 120_000;

test(
  'a cut that fails at one pserver leaves no files at the others',
  async () => {
    const job = new Scenario({ mode: 'sync', checkpoint: OFTEN });
    await job.until('a cut that has one before it', () => job.cut.before !== undefined);
    job.named('pserver 0').machine.fillUp(0);
    let most = 0;
    const failed = () => job.told(/was not written/);
    while (failed() < 8) {
      await job.until(
        'another cut fails',
        (
          (before) => () =>
            failed() > before
        )(failed()),
      );
      most = Math.max(most, job.published(1).length, (await job.files(1)).length);
    }
    // The newest, `keep` before it, and those of the two cuts.
    expect(most).toBeLessThanOrEqual(4);
    job.named('pserver 0').machine.makeRoom();
    expect(await job.difference()).toEqual({});
  },
  TIMEOUT_MS,
);

const WAITS = /waiting for the checkpoint files of pserver 0: .* does not exist/;

test(
  'a pserver that starts without its folder waits for it, and sets no other pserver back: sync mode',
  async () => {
    const job = new Scenario({ mode: 'sync', checkpoint: OFTEN });
    await job.until('a cut that has one before it', () => job.cut.before !== undefined);
    const show = job.hideFiles(0);
    job.named('pserver 0').kill(false);
    await job.until('it says what it waits for', () => job.told(WAITS) > 0);
    await job.pass(20_000);
    expect(job.cut.before).toBeDefined();
    expect(job.cut.timeline).toBe(0);
    show();
    expect(await job.difference()).toEqual({});
    expect(job.cut.timeline).toBe(1);
  },
  TIMEOUT_MS,
);

test(
  'the same after a clean stop: not even back to the cut',
  async () => {
    const job = new Scenario({ mode: 'sync', checkpoint: OFTEN });
    await job.until('a cut', () => job.cut.round > 0);
    // One that leaves takes no units: both save.
    for (const name of ['pserver 0', 'pserver 1']) job.named(name).terminate();
    await job.until('it has saved its last state', () => job.entry(0)?.clean === true);
    const show = job.hideFiles(0);
    await job.until('it says what it waits for', () => job.told(WAITS) > 0);
    await job.pass(20_000);
    show();
    expect(await job.difference()).toEqual({});
    expect(job.cut.timeline).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  'the same in async mode: nothing is replayed',
  async () => {
    const job = new Scenario({ mode: 'async', checkpoint: { intervalMs: 500 } });
    await job.until('a checkpoint', () => job.entry(0) !== undefined);
    // One that leaves takes no units: both save.
    for (const name of ['pserver 0', 'pserver 1']) job.named(name).terminate();
    await job.until('it has saved its last state', () => job.entry(0)?.clean === true);
    const show = job.hideFiles(0);
    await job.until('it says what it waits for', () => job.told(WAITS) > 0);
    await job.pass(20_000);
    show();
    expect(await job.difference()).toEqual({});
    expect(job.recovery).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  'a pserver whose folder vanishes while it runs waits for it before it goes back to the cut',
  async () => {
    const job = new Scenario({ mode: 'sync', checkpoint: OFTEN });
    await job.until('a cut that has one before it', () => job.cut.before !== undefined);
    const { round } = job.cut;
    const show = job.hideFiles(0);
    job.named('pserver 1').kill(false);
    await job.until('it says what it waits for', () => job.told(WAITS) > 0);
    await job.pass(20_000);
    expect(job.cut).toMatchObject({ timeline: 1, round });
    show();
    expect(await job.difference()).toEqual({});
    expect(job.cut.timeline).toBe(1);
  },
  TIMEOUT_MS,
);

test(
  'a pserver that waits for its file of the cut follows the others to the cut before',
  async () => {
    const job = new Scenario({ mode: 'sync', checkpoint: OFTEN });
    await job.until('a cut that has one before it', () => job.cut.before !== undefined);
    const { round, before, files } = job.cut;
    const pathOf = (index: number): string => `/checkpoints/${index}/${files[index]!.uuid}`;
    job.named('pserver 0').kill(false);
    await job.removeFiles(0, [pathOf(0)]);
    await job.until('it waits for that one', () => job.told(/does not have any of the 1 published files/) > 0);
    expect(job.cut).toMatchObject({ timeline: 1, round });
    job.named('pserver 1').kill(false);
    const { disk } = job.named('pserver 1').machine;
    disk.flip(pathOf(1), disk.content(pathOf(1))!.length - 1);
    await job.until('pserver 1 gives up the cut', () => job.cut.timeline === 3);
    expect(job.cut.round).toBe(before!.round);
    expect(await job.difference()).toEqual({});
    expect(job.cut.timeline).toBe(3);
  },
  TIMEOUT_MS,
);

test.each(['sync', 'async'] as const)(
  'goes on without files that an operator gives up: %s mode',
  async (mode) => {
    const job = new Scenario({ mode, checkpoint: { intervalMs: 500 } });
    const hasFiles = () => (mode === 'sync' ? job.cut.round > 0 : job.entry(0) !== undefined);
    await job.until('files', hasFiles);
    job.hideFiles(0);
    job.named('pserver 0').kill(false);
    await job.until('it says what it waits for', () => job.told(WAITS) > 0);
    const given = await forgetFiles(job.store, KEYS, 0);
    expect(given).toEqual(expect.arrayContaining(job.published(0)));
    expect(await job.difference()).toEqual({});
    if (mode === 'sync') expect(job.cut.timeline).toBeGreaterThan(1);
    else expect(job.recovery).toBe(1);
    await expect(forgetFiles(job.store, KEYS, 0)).rejects.toMatchObject({ code: 'JobUnknown' });
  },
  TIMEOUT_MS,
);

/** The disk is full when it loses its index, and nothing was saved before. */
async function losesItsIndex(job: Scenario): Promise<void> {
  await job.until('work', () => job.cluster.witness.counts.has('applied push'));
  job.named('pserver 0').machine.fillUp(0);
  const reconnect = job.cluster.store.cutOff('pserver 0');
  await job.until('its lease ends', () => job.cluster.store.data.get(KEYS.ps(0)) === undefined);
  reconnect();
  await job.until('it keeps its memory', () => job.told(/^pserver 0 error: not written yet/) > 0);
}

test(
  'a pserver that lost its index keeps its memory until the disk takes it',
  async () => {
    const job = new Scenario({ mode: 'async', checkpoint: { intervalMs: 'off' } });
    await losesItsIndex(job);
    job.named('pserver 0').machine.makeRoom();
    expect(await job.difference()).toEqual({});
    expect(job.recovery).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  'or until another has taken its units, which are then repaired',
  async () => {
    const job = new Scenario({ mode: 'async', checkpoint: { intervalMs: 'off' } });
    await losesItsIndex(job);
    await job.until('another takes its units', () => job.told(/^pserver 1 serving 6 shards/) > 0);
    await job.until('it gives up', () => job.told(/^pserver 0 error: the parting snapshot is lost/) > 0);
    job.named('pserver 0').machine.makeRoom();
    expect(await job.difference()).toEqual({});
    expect(job.recovery).toBe(1);
  },
  TIMEOUT_MS,
);

test(
  'a pserver that is asked to stop waits for room',
  async () => {
    const job = new Scenario({ mode: 'async', checkpoint: { intervalMs: 'off' } });
    await job.until('work', () => job.cluster.witness.counts.has('applied push'));
    const { machine } = job.named('pserver 0');
    machine.fillUp(0);
    // One that leaves takes no units: both save.
    for (const name of ['pserver 0', 'pserver 1']) job.named(name).terminate();
    await job.until('it waits', () => job.told(/^pserver 0 error: not written yet/) > 0);
    await job.pass(5_000);
    machine.makeRoom();
    expect(await job.difference()).toEqual({});
    expect(job.recovery).toBe(0);
  },
  TIMEOUT_MS,
);

test.each(['sync', 'async'] as const)(
  'the last checkpoint waits for room and for a folder that has vanished: %s mode',
  async (mode) => {
    const job = new Scenario({ mode, checkpoint: { intervalMs: 500 } });
    await job.until('files', () => job.entry(0) !== undefined);
    const { machine } = job.named('pserver 0');
    const show = job.hideFiles(0);
    const why = /pserver 0 at .*: the checkpoint folder .* has vanished|last cut is not written yet: .* has vanished/;
    await job.until('it says why it waits', () => job.told(why) > 0);
    show();
    machine.fillUp(0);
    await job.pass(15_000);
    expect(job.cluster.isOver).toBe(false);
    machine.makeRoom();
    expect(await job.difference()).toEqual({});
    expect(mode === 'sync' ? job.cut.timeline : job.recovery).toBe(0);
  },
  TIMEOUT_MS,
);
