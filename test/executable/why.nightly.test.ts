/** `paddlet why` with real processes: five causes, one after the other, in one cluster that is started by hand. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { whyNoEtcd } from '../etcd-server.ts';
import { startByHand } from './by-hand.ts';
import { startEtcd } from './etcd.ts';
import { openPlace, type Place } from './harness.ts';
import { PATIENT_JOB, plantedJob } from './planted-job.ts';
import { eventually } from './run.ts';

const reason = whyNoEtcd();

const answerSchema = z.object({
  phase: z.string(),
  causes: z.array(z.object({ kind: z.string(), sentence: z.string(), hint: z.string().optional() })),
});

const JOB = {
  ...PATIENT_JOB,
  cluster: { ...PATIENT_JOB.cluster, leaseTtl: '15s' },
  tasks: { maxFailures: 1_000_000 },
  // Until there is a file in the data folder.
  hooks: { before: ['until [ -e go ]; do sleep 0.1; done'] },
};
/** The job does not end before the test. */
const VERY_SLOWLY = 'trainer.dealt:delay=300';

/** Until that kind is the first cause; its sentence. */
const first = (place: Place, where: readonly string[], kind: string): Promise<string> =>
  eventually(async () => {
    const { causes } = answerSchema.parse(await place.json('why', ...where));
    expect(causes[0]?.kind, JSON.stringify(causes)).toBe(kind);
    return causes[0]!.sentence;
  });

const NAMED = 'names a hook, a missing data folder, a stopped trainer, a dead pserver, a store';

test.skipIf(reason !== undefined)(`${NAMED}${reason === undefined ? '' : ` (${reason})`}`, async () => {
  const place = openPlace();
  const etcd = await startEtcd();
  const where = ['--store', etcd.url];
  const { trainers, pservers, again } = await startByHand(place, await plantedJob(place, JOB), etcd.url, VERY_SLOWLY);

  expect(await first(place, where, 'hook')).toMatch(/^The master runs hook before\[0\] .*until \[ -e go \]/);
  writeFileSync(place.path('go'), '');

  mkdirSync(place.path('empty'));
  const lost = place.start('lost', ['trainer', '--data-dir', 'empty'], { PADDLET_STORE: etcd.url });
  expect(await first(place, where, 'data')).toMatch(
    /failed at task \d+ of pass 1 \(train.libsvm records .*DataMissing/,
  );
  lost.kill('SIGTERM');
  await lost.ended;

  trainers[1].kill('SIGSTOP');
  expect(await first(place, where, 'trainer')).toMatch(/^Trainer \w{8} at \S+ does not answer: .*; it has task \d+ of/);
  trainers[1].kill('SIGCONT');

  pservers[1].kill('SIGKILL');
  expect(await first(place, where, 'pserver')).toMatch(/^Pserver 1 at \S+ does not answer: it is dead/);
  again('pserver 1');

  await etcd.stop();
  const sentence = await first(place, [...where, '--timeout', '1s'], 'store');
  expect(sentence).toMatch(/^The store etcd:\/\/\S+ did not answer within 1 s/);
});
