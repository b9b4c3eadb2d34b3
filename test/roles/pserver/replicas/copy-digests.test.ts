/** Copies of a shard have the same digest at the same position, and it is taken exactly there. */
import { beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import { CopyDigests, type DigestAnswer } from '../../../../src/roles/pserver/replicas/copy-digests.ts';
import { FakeClock } from '../../../store/support.ts';

import { CopiedRig, type Gradients, UNITS } from './copied-rig.ts';

const GRADIENTS: Gradients = { ids: [1, 2, 3, 4, 5, 6, 7, 8], block: 1, gradient: 2 };
/** Of unit 0. */
const SHARD = 3;

let rig: CopiedRig;
let clock: FakeClock;
let atPrimary: CopyDigests;
let atBackup: CopyDigests;
/** What the primary has applied and the backup has not. */
let late: (() => void)[];

beforeEach(() => {
  rig = new CopiedRig({ type: 'adam', learningRate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 });
  clock = new FakeClock();
  const { primary, backup, copies: copied } = rig;
  const none = { momentOf: () => undefined };
  atPrimary = new CopyDigests({ clock, spec: primary.job.spec, owned: primary, copied: none });
  atBackup = new CopyDigests({ clock, spec: primary.job.spec, owned: backup, copied });
  late = [];
  for (const unit of UNITS) rig.adopt(unit);
});

function push(task: number): void {
  const update = rig.push(task, UNITS, GRADIENTS)!;
  atPrimary.applied(UNITS);
  late.push(() => {
    rig.apply(UNITS, update);
    atBackup.applied(UNITS);
  });
}

const at = (digests: CopyDigests, position?: number, maxWaitMs = 1_000): Promise<DigestAnswer> =>
  digests.of({ shard: SHARD, maxWaitMs, ...(position === undefined ? {} : { position }) });

describe('the digest of a copy', () => {
  it('is that of its primary at the same position, however late it gets there', async () => {
    const [led, copied] = [at(atPrimary, 2), at(atBackup, 2)];
    for (const task of [0, 1, 0]) push(task);
    for (const apply of late) apply();
    const { digest } = await led;
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(await copied).toEqual({ position: 2, digest });
    expect(await at(atPrimary, 3)).not.toMatchObject({ digest });
    expect(await at(atPrimary, 3)).toEqual(await at(atBackup, 3));
  });

  it('is another one when a value, or the ledger alone, is another', async () => {
    push(0);
    late[0]!();
    const { digest } = await at(atPrimary, 1);
    expect(await at(atBackup, 1)).toMatchObject({ digest });
    rig.primary.apply({ type: 'close', tasks: [{ pass: 0, task: 2, records: 100 }] });
    expect((await at(atPrimary, 1)).digest).not.toBe(digest);
    const { parameters } = rig.backup;
    const [block, ...others] = [SHARD, 0, 1, 2, 4, 5].flatMap((shard) => parameters.exportBlocks(shard));
    expect(others.length).toBeGreaterThan(0);
    const shard = [0, 1, 2, 3, 4, 5].find((one) =>
      parameters.exportBlocks(one).some((found) => found.block === block!.block),
    )!;
    const before = (await atBackup.of({ shard, position: 1, maxWaitMs: 0 })).digest;
    parameters.importBlock(shard, { ...block!, values: block!.values.map((value, i) => (i === 7 ? -value : value)) });
    expect((await atBackup.of({ shard, position: 1, maxWaitMs: 0 })).digest).not.toBe(before);
  });

  it('is not given for another position: that is told, at once when it is past', async () => {
    push(0);
    push(1);
    expect(await at(atPrimary, 1)).toEqual({ position: 2 });
    expect(await at(atPrimary)).toEqual({ position: 2 });
    expect(await at(atPrimary, 3, 0)).toEqual({ position: 2 });
  });

  it('is waited for no longer than asked, and not beyond the end', async () => {
    const [early, closed] = [at(atBackup, 1, 500), at(atBackup, 1, 5_000)];
    await clock.advance(500);
    expect(await early).toEqual({ position: 0 });
    atBackup.close();
    expect(await closed).toEqual({ position: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('has no position where there is no copy, from the start or by now', async () => {
    const waiting = at(atBackup, 4, 500);
    rig.copies.discard(0);
    expect(await at(atBackup, 4)).toEqual({});
    await clock.advance(500);
    expect(await waiting).toEqual({});
  });

  it('can be waited for by so many only', async () => {
    for (let asked = 0; asked < LIMITS.digestsWaiting; asked++) void at(atPrimary, 9);
    expect(() => at(atPrimary, 9)).toThrow(expect.objectContaining({ code: 'Overloaded' }));
    atPrimary.close();
  });
});
