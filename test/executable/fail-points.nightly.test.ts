/** Roles killed at each step that a fail point marks, one step after the other within one job: it ends whole. */
import { expect, test } from 'vitest';
import { expectWholeEnd, setUp } from './killed-at-steps.ts';
import { freeze } from './processes.ts';
import { SLOWLY } from './run.ts';

/** Of a trainer that works on while others die: it must not have done all before the last of them. */
const VERY_SLOWLY = 'trainer.dealt:delay=80';

test('a pserver that lost its index dies when its parting snapshot is announced', async () => {
  const hand = await setUp();
  const others = [hand.start('pserver 1'), hand.start('trainer 0', SLOWLY), hand.start('trainer 1', SLOWLY)];
  const master = hand.start('master');
  const frozen = hand.start('pserver 0', 'checkpoint.parted:kill');
  await frozen.said(/checkpoint .* published/);
  const { store } = hand;
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
  const others = [hand.start('pserver 0'), hand.start('pserver 1'), hand.start('trainer 1', VERY_SLOWLY)];
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
