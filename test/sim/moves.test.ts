/** A pserver that stops alone gives its units away, and gets units again when it is back; nothing is replayed. */
import { expect, test } from 'vitest';
import { KEYS } from './job-keys.ts';
import { Scenario } from './scenario.ts';

const led = (name: string): RegExp => new RegExp(`^${name} unit \\d+ is led by this pserver now`);

test('a pserver that stops alone loses nothing, and takes its share when it is back', async () => {
  const job = new Scenario({ mode: 'async', checkpoint: { intervalMs: 'off' } });
  await job.until('work', () => job.cluster.witness.counts.has('applied push'));
  job.named('pserver 0').terminate();
  await job.until('the other has everything', () => job.told(led('pserver 1')) === 2);
  await job.until('it is back and has units again', () => job.told(led('pserver 0')) === 2);
  expect(await job.difference()).toEqual({});
  expect(job.recovery).toBe(0);
  expect(job.told(/start from their initial values/)).toBe(0);
});

test.each([
  { mode: 'async', intervalMs: 6_000 },
  { mode: 'sync', intervalMs: 6_000 },
] as const)(
  'units that moved and were not saved since are read through the pserver that has their file: $mode mode',
  async ({ mode, intervalMs }) => {
    const job = new Scenario({ mode, checkpoint: { intervalMs } });
    await job.until('files', () => job.entry(0) !== undefined && job.entry(1) !== undefined);
    job.named('pserver 0').terminate();
    await job.until('the other has everything', () => job.told(led('pserver 1')) === 2);
    const [own] = job.published(0);
    const [before] = job.published(1);
    await job.until('it has saved that', () => job.published(1)[0] !== before);
    await job.until('the first one is back and has units again', () => job.told(led('pserver 0')) === 2);
    // No save came in between: another interval is needed if one does.
    expect(job.published(0)[0]).toBe(own);
    job.named('pserver 0').kill(false);
    expect(await job.difference()).toEqual({});
    expect(job.told(/^pserver 0 error: waiting for the checkpoint files of pserver 1/)).toBe(0);
  },
  60_000,
);

test('a pserver that is not wanted and was killed comes back while its files are needed, and then leaves nothing', async () => {
  const job = new Scenario({ mode: 'async', checkpoint: { intervalMs: 5_000 } });
  await job.until('files', () => job.entry(0) !== undefined && job.entry(1) !== undefined);
  const { machine } = job.named('pserver 0');
  machine.fillUp(0);
  job.cluster.store.data.txn({ if: [], then: [{ put: KEYS.psDesired, value: '1' }] });
  const stays = (): number => job.told(/^pserver 1 staying until the job no longer needs this pserver: \d+ shards/);
  await job.until('it has handed over everything', () => stays() === 1);
  job.named('pserver 1').kill(false);
  await job.until('it is back', () => stays() === 2);
  machine.makeRoom();
  await job.until('it has left', () => job.told(/^pserver 1 all keys and files of pserver 1 are deleted/) === 1);
  expect(job.named('pserver 1').machine.disk.names('/checkpoints/1')).toEqual([]);
  expect(await job.difference()).toEqual({});
  expect(job.recovery).toBe(0);
});
