/** Whole jobs that begin with the parameters of another job, whose files may go. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Mode } from './mode.ts';
import { Scenario } from './scenario.ts';
import { warmSource } from './warm-source.ts';

const TIMEOUT_MS = 120_000;
/** No checkpoint but those that a warm start makes. */
const checkpoint = { intervalMs: 'off', everyPasses: undefined } as const;
const WAITS = /^pserver 0 error: waiting for the files of job source .*: \/source\/0\/.*: no such file/;

describe.each(['async', 'sync'] as const)('a job with a warm start: %s mode', (mode: Mode) => {
  let files: ReadonlyMap<string, Uint8Array>;
  /** Of the model, when nothing happens to the job. */
  let digest: string;
  /** In sync mode. */
  let rounds: number;
  const start = (): Scenario => new Scenario({ mode, checkpoint, warmSource: files });
  const hasOwnFiles = (job: Scenario): boolean =>
    mode === 'sync' ? job.cut.round > 0 : [0, 1].every((index) => job.entry(index) !== undefined);

  beforeAll(async () => {
    files = await warmSource(mode);
    const job = start();
    digest = (await job.result()).modelDigest;
    rounds = job.cut.round;
  }, TIMEOUT_MS);

  const expectSound = async (job: Scenario): Promise<void> => {
    const { modelDigest, records } = await job.result();
    expect({ modelDigest, lost: records.lost }).toEqual({ modelDigest: digest, lost: 0 });
  };

  it('saves at once, and needs the files of the other job no more', { timeout: TIMEOUT_MS }, async () => {
    const job = start();
    await job.until('files of its own', () => hasOwnFiles(job));
    // Not those that every job has at its end.
    if (mode === 'sync') expect(job.cut.round).toBeLessThan(rounds);
    else expect([0, 1].map((index) => job.entry(index)?.clean)).toEqual([false, false]);
    for (const index of [0, 1]) await job.removeFiles(index, files.keys());
    for (const index of [0, 1]) job.named(`pserver ${index}`).kill(false);
    await expectSound(job);
    expect(job.told(/waiting for the files of job source/)).toBe(0);
    expect(job.told(/warm start: \d+ shards are filled/)).toBe(2);
  });

  it('waits for files that cannot be found', { timeout: TIMEOUT_MS }, async () => {
    const job = start();
    const putBack = await job.removeFiles(0, files.keys());
    await job.until('it says what it waits for', () => job.told(WAITS) > 0);
    await job.pass(20_000);
    expect(job.named('pserver 0').running).toBeDefined();
    putBack();
    await expectSound(job);
  });

  it('waits for a file that is not copied to its end', { timeout: TIMEOUT_MS }, async () => {
    const job = start();
    const [path, bytes] = [...files][1]!;
    const putBack = await job.removeFiles(0, [path]);
    job.named('pserver 0').machine.disk.place(path, bytes.slice(0, -1));
    const waits = new RegExp(`waiting for the files of job source .*has ${bytes.length - 1} of ${bytes.length} bytes`);
    await job.until('it says what it waits for', () => job.told(waits) > 0);
    putBack();
    await expectSound(job);
  });

  it('fails when one of them is damaged', { timeout: TIMEOUT_MS }, async () => {
    const job = start();
    const [path, bytes] = [...files][0]!;
    job.named('pserver 0').machine.disk.flip(path, bytes.length - 1);
    await expect(job.result()).rejects.toMatchObject({
      code: 'CheckpointCorrupt',
      message: expect.stringMatching(/^the warm start from job source: \/source\/0\/.*: damaged/),
    });
  });
});
