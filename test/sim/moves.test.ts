/** A pserver that stops alone gives its units away, and gets units again when it is back; nothing is replayed. */
import { expect, test } from 'vitest';
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
}, 60_000);
