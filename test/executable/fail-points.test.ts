/** Roles killed at each step that a fail point marks, one step after the other within one job: it ends whole. */
import { expect, test } from 'vitest';
import { commandLines, HAND_FOLDER } from './by-hand.ts';
import { endWell, openPlace, type Place, resultOf } from './harness.ts';
import { openJobStore } from './job-store.ts';
import { expectWhole, JOB, plantedJob } from './planted-job.ts';
import { freeze, type Running } from './processes.ts';

/** Often, so that a step of saving is never far. */
const SAVING_JOB = { ...JOB, checkpoint: { interval: '100ms' } };
/** Long enough for a pserver to be back before another one takes its units, on a busy machine, too. */
const AWAITED_JOB = { ...SAVING_JOB, cluster: { ...JOB.cluster, leaseTtl: '4s' } };

interface Hand {
  readonly place: Place;
  readonly storeUrl: string;
  start(name: string, fail?: string): Running;
  /** Starts the role with the point armed; resolves when it was hit dead there. */
  diesAt(name: string, fail: string): Promise<void>;
}

async function setUp(job: Parameters<typeof plantedJob>[1] = SAVING_JOB): Promise<Hand> {
  const place = openPlace();
  const lines = commandLines(await plantedJob(place, job));
  const storeUrl = `sqlite:${place.path('store.db')}`;
  const start = (name: string, fail = ''): Running =>
    place.start(name, lines[name]!, { PADDLET_STORE: storeUrl, PADDLET_FAIL: fail });
  return {
    place,
    storeUrl,
    start,
    async diesAt(name, fail) {
      const hit = start(name, fail);
      const { code, signal, err } = await hit.ended;
      expect({ fail, code, signal }).toEqual({ fail, code: null, signal: 'SIGKILL' });
      expect(err).toContain(`fail point ${fail}\n`);
    },
  };
}

async function expectWholeEnd({ place }: Hand, master: Running, others: readonly Running[]): Promise<void> {
  const result = await resultOf(master);
  await endWell(others);
  await expectWhole(place, result, place.path(HAND_FOLDER, 'checkpoints'));
}

test('a pserver dies at each step of saving a checkpoint', async () => {
  const hand = await setUp();
  const others = ['pserver 1', 'trainer 0', 'trainer 1'].map((name) => hand.start(name));
  const master = hand.start('master');
  for (const step of ['begun', 'captured', 'written', 'synced', 'digested', 'renamed', 'folder-synced', 'published']) {
    await hand.diesAt('pserver 0', `checkpoint.${step}:kill@${step === 'captured' ? 3 : 1}`);
  }
  await hand.diesAt('pserver 0', 'checkpoint.deleted:kill@1');
  await expectWholeEnd(hand, master, [...others, hand.start('pserver 0')]);
});

test('a pserver dies at each step of a push, and of its own start', async () => {
  const hand = await setUp(AWAITED_JOB);
  const others = ['pserver 1', 'trainer 0', 'trainer 1'].map((name) => hand.start(name));
  const master = hand.start('master');
  for (const step of ['received', 'applied', 'advanced']) await hand.diesAt('pserver 0', `push.${step}:kill@40`);
  const starting = ['pserver.claimed', 'pserver.loaded', 'heads.changed', 'pserver.shards-taken'] as const;
  for (const step of [...starting, 'pserver.recovery-raised']) {
    // In between it leads its units: one that is never back would lose them to the other pserver.
    const served = hand.start('pserver 0');
    await served.said(/serving \d+ shards/);
    served.kill(step === 'pserver.recovery-raised' ? 'SIGKILL' : 'SIGINT');
    await served.ended;
    await hand.diesAt('pserver 0', `${step}:kill@1`);
  }
  const stopped = hand.start('pserver 0');
  await stopped.said(/checkpoint .* published/);
  stopped.kill('SIGINT');
  expect(await stopped.ended).toMatchObject({ code: 130 });
  await hand.diesAt('pserver 0', 'pserver.opened:kill@1');
  await expectWholeEnd(hand, master, [...others, hand.start('pserver 0')]);
});

test('a pserver that lost its index dies when its parting snapshot is announced', async () => {
  const hand = await setUp();
  const others = ['pserver 1', 'trainer 0', 'trainer 1'].map((name) => hand.start(name));
  const master = hand.start('master');
  const frozen = hand.start('pserver 0', 'checkpoint.parted:kill');
  await frozen.said(/checkpoint .* published/);
  const store = await openJobStore(hand.storeUrl, JOB.name);
  await freeze(frozen.pid, store.url);
  await store.until((entries) => entries.has('/ps/1') && !entries.has('/ps/0'));
  frozen.kill('SIGCONT');
  expect(await frozen.ended).toMatchObject({ code: null, signal: 'SIGKILL' });
  const next = hand.start('pserver 0');
  await expectWholeEnd(hand, master, [...others, next]);
  const parting = [...(await store.entries())].find(([key]) => key.startsWith('/parting/'));
  expect(next.err).toContain(`from=${(JSON.parse(parting![1].value) as { uuid: string }).uuid}`);
  expect(await store.get('/recovery')).toBeUndefined();
});

test('a trainer dies at each step of a push and of a task', async () => {
  const hand = await setUp();
  const others = ['pserver 0', 'pserver 1', 'trainer 1'].map((name) => hand.start(name));
  const master = hand.start('master');
  for (const point of ['pserver-acknowledged:kill@21', 'pushed:kill@10', 'dealt:kill@5', 'finishing:kill@5']) {
    await hand.diesAt('trainer 0', `trainer.${point}`);
  }
  await hand.diesAt('trainer 0', 'trainer.finished:kill@5');
  await expectWholeEnd(hand, master, [...others, hand.start('trainer 0')]);
});

test('a master dies before and after each save, and when it is about to publish the result', async () => {
  const hand = await setUp();
  const others = ['pserver 0', 'pserver 1', 'trainer 0', 'trainer 1'].map((name) => hand.start(name));
  for (const point of ['tasks.saving', 'tasks.saved', 'finish.received', 'finish.recorded']) {
    await hand.diesAt('master', `${point}:kill@30`);
  }
  await hand.diesAt('master', 'master.locked:kill');
  await hand.diesAt('master', 'result.publishing:kill');
  await expectWholeEnd(hand, hand.start('master'), others);
});

test('a master dies while it repairs what a dead pserver lost', async () => {
  const hand = await setUp();
  const others = ['pserver 1', 'trainer 0', 'trainer 1'].map((name) => hand.start(name));
  const repairing = hand.diesAt('master', 'repair.found:kill');
  await hand.diesAt('pserver 0', 'push.advanced:kill@60');
  const next = hand.start('pserver 0');
  await repairing;
  await hand.diesAt('master', 'repair.done:kill');
  await expectWholeEnd(hand, hand.start('master'), [...others, next]);
});
