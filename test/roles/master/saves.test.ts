/** The choice of who saves the model is in the store before any trainer is told. */
import { beforeEach, expect, it } from 'vitest';
import { createSignal } from '../../../src/cluster/waiting.ts';
import { openSaves, type Saves } from '../../../src/roles/master/saves.ts';
import { aStore, Master, settled, stateOf } from './tasks/service-rig.ts';

const ASK = { trainer: 'a', blockMs: 1_000 };

let master: Master;
let saves: Saves;

async function open(ended: number): Promise<Saves> {
  const { context, fence, stopSignal, ends } = master;
  const onFatal = (error: unknown): void => void ends.push(error);
  return openSaves({
    context,
    fence,
    passes: 5,
    ended,
    stopSignal: stopSignal.signal,
    changed: createSignal(),
    onFatal,
  });
}

const stored = async (): Promise<unknown> =>
  JSON.parse((await master.context.store.get(master.context.keys.modelSave))!.value);

beforeEach(async () => {
  const { clock, data } = aStore();
  master = new Master(clock, data);
  saves = await open(1);
});

it('neither on its first request nor when it asks again in the meantime', async () => {
  master.troubled.hold();
  const answers = [saves.request(ASK), saves.request(ASK)];
  const states = answers.map(stateOf);
  expect(await Promise.all(states)).toEqual(['open', 'open']);
  master.troubled.releaseHold();
  await settled();
  expect(await Promise.all(answers)).toEqual([
    { pass: 1, choice: 1 },
    { pass: 1, choice: 1 },
  ]);
  expect(await stored()).toMatchObject({ saved: 0, choices: 1, chosen: { trainer: 'a', pass: 1, choice: 1 } });
});

it('nor when it could not be stored, since the lock is lost', async () => {
  const { data } = master.troubled;
  data.txn({ if: [], then: [{ delete: master.context.keys.masterLock }] });
  const answers = [saves.request(ASK), saves.request(ASK)];
  expect(await Promise.all(answers.map(stateOf))).toEqual(['refused: LeaseGone', 'refused: LeaseGone']);
});

it('the next master goes on numbering where this one was', async () => {
  await saves.request(ASK);
  await saves.ended({ trainer: 'a', pass: 1, choice: 1, path: '/models/1' });
  const next = await open(2);
  expect(await next.request({ ...ASK, trainer: 'b' })).toEqual({ pass: 2, choice: 2 });
  expect(await next.request({ ...ASK, choice: 1 })).toBeUndefined();
  expect(master.ends).toEqual([]);
});
