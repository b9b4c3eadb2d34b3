/** A cluster by hand on etcd: a pserver is added, and another one leaves, in mid-training. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { whyNoEtcd } from '../etcd-server.ts';
import { HAND_FOLDER, startByHand } from './by-hand.ts';
import { startEtcd } from './etcd.ts';
import { endWell, openPlace, resultOf } from './harness.ts';
import { expectWhole, plantedJob, UNHURRIED_JOB } from './planted-job.ts';
import { expectMidRun } from './run.ts';

const reason = whyNoEtcd();
const UNITS = 32;
const INTERRUPTED = 130;

const JOB = { ...UNHURRIED_JOB, cluster: { ...UNHURRIED_JOB.cluster, maxPservers: 3, units: UNITS } };

/** The job lasts for several times what the moves take. */
const SLOWLY = 'trainer.dealt:delay=60';

const settledSchema = z.object({
  outcome: z.literal('settled'),
  processes: z.array(z.object({ index: z.number(), units: z.number(), status: z.literal('up') })),
});
const ownerSchema = z.object({ primary: z.object({ index: z.number() }) });

describe.skipIf(reason !== undefined)(`on etcd${reason === undefined ? '' : ` (${reason})`}`, () => {
  test('a pserver that is added takes its share; SIGTERM of one loses nothing, and nothing is loaded', async () => {
    const place = openPlace();
    const etcd = await startEtcd();
    const { store, master, pservers, trainers } = await startByHand(
      place,
      await plantedJob(place, JOB),
      etcd.url,
      SLOWLY,
    );
    await store.until((entries) => entries.has('/checkpoints/0') || entries.has('/tasks/passes/0'), master);

    const resize = place.start('resize', ['resize', '--pservers', '3', '--store', etcd.url, '--json']);
    const [, command] = await resize.said(
      /to be started[^\n]*\n[^\n]*? paddlet (pserver --index .+) host=\S+ pid=\d+\n/,
    );
    expect(command).toBe(`pserver --index 2 --store ${etcd.url}`);
    const added = place.start('pserver 2', [...command!.split(' '), '--dir', HAND_FOLDER]);
    const { code, out } = await resize.ended;
    expect(code).toBe(0);
    const { processes } = settledSchema.parse(JSON.parse(out));
    expect(processes.map(({ units }) => units)).toEqual([11, 11, 10]);

    const [stopped, other] = pservers;
    await expectMidRun(store);
    stopped.kill('SIGTERM');
    expect(await stopped.ended).toMatchObject({ code: INTERRUPTED, err: expect.not.stringContaining('draining') });
    await expectMidRun(store);
    const leaders = new Map<number, number>();
    for (const [key, { value }] of await store.entries()) {
      if (!key.startsWith('/heads/')) continue;
      const { index } = ownerSchema.parse(JSON.parse(value)).primary;
      leaders.set(index, (leaders.get(index) ?? 0) + 1);
    }
    expect(leaders).toEqual(
      new Map([
        [1, UNITS / 2],
        [2, UNITS / 2],
      ]),
    );

    const result = await resultOf(master);
    await endWell([other, added, ...trainers]);
    await expectWhole(place, result, place.path(HAND_FOLDER, 'checkpoints'));
    expect(await store.get('/recovery')).toBeUndefined();
    for (const { err } of [...pservers, added]) expect(err).not.toMatch(/from=[0-9a-f-]{36}/);
  });
});
