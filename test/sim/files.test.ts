/** Whole jobs whose checkpoint folders fill up or are absent. */
import { expect, test } from 'vitest';
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
