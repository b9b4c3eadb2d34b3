/** The choice of who saves the model is in the store before any trainer is told. */
import { beforeEach, describe, expect, it } from 'vitest';
import { createSignal } from '../../../src/cluster/waiting.ts';
import { saveLimitMs } from '../../../src/core/save-election.ts';
import { openSaves, type Saves } from '../../../src/roles/master/saves.ts';
import { aStore, Master, settled, stateOf } from './tasks/service-rig.ts';

const LEASE_TTL_MS = 20_000;
/** 500 s at 2 MB/s. */
const BYTES = 1e9;
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
    leaseTtlMs: LEASE_TTL_MS,
    stopSignal: stopSignal.signal,
    changed: createSignal(),
    modelBytes: () => Promise.resolve(BYTES),
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

it('refuses a block time that a master would wait too long for', async () => {
  const longest = 4 * LEASE_TTL_MS;
  await expect(saves.request({ ...ASK, blockMs: longest + 1 })).rejects.toMatchObject({ code: 'BadMessage' });
  expect(await saves.request({ ...ASK, blockMs: longest })).toEqual({ pass: 1, choice: 1 });
});

it.each([
  { type: 'gone', trainer: 'a' },
  { type: 'roster', trainers: ['b'] },
] as const)('forgets a chosen trainer that is registered no more: $type', async (event) => {
  await saves.request(ASK);
  saves.tell({ type: 'gone', trainer: 'b' });
  saves.tell({ type: 'roster', trainers: ['a', 'b'] });
  expect(await saves.request({ ...ASK, trainer: 'b' })).toBeUndefined();
  saves.tell(event);
  expect(saves.isWanted()).toBe(true);
  expect(await saves.request({ ...ASK, trainer: 'b' })).toEqual({ pass: 1, choice: 2 });
});

describe('a trainer that renews its choice and never writes', () => {
  /** Renews until its time is over. */
  async function renewAll(trainer: string, failures: number): Promise<void> {
    const blockMs = 4 * LEASE_TTL_MS;
    let chosen = await saves.request({ trainer, blockMs });
    expect(chosen).toBeDefined();
    const limitMs = saveLimitMs(BYTES, failures);
    for (let ms = 0; ms < limitMs; ms += blockMs / 2) {
      expect(chosen).toBeDefined();
      await master.clock.advance(blockMs / 2);
      chosen = await saves.request({ trainer, blockMs, choice: chosen?.choice ?? 0 });
    }
    expect(chosen).toBeUndefined();
  }

  it('lets another one save', async () => {
    saves.tell({ type: 'roster', trainers: ['a', 'b'] });
    await renewAll('a', 0);
    expect(saves.isWanted()).toBe(true);
    expect(await saves.request(ASK)).toBeUndefined();
    expect(await saves.request({ ...ASK, trainer: 'b' })).toEqual({ pass: 1, choice: 2 });
    expect(master.ends).toEqual([]);
  });

  it('fails the job when no other one does, as if it reported a failure', async () => {
    for (let round = 0; round < 5; round++) {
      expect(master.ends).toEqual([]);
      await renewAll('a', round);
    }
    expect(master.ends).toMatchObject([{ code: 'ModelNotSaved' }]);
  });
});

it('trainers that fall silent one after the other fail the job, as none of them saves', async () => {
  saves.tell({ type: 'roster', trainers: ['a', 'b'] });
  for (const trainer of ['a', 'b', 'a', 'b', 'a']) {
    expect(master.ends).toEqual([]);
    expect(await saves.request({ ...ASK, trainer })).toBeDefined();
    await master.clock.advance(ASK.blockMs);
  }
  await saves.request({ ...ASK, trainer: 'b' });
  expect(master.ends).toMatchObject([{ code: 'ModelNotSaved' }]);
});

it('a model that the next master finds being written has the time of its size', async () => {
  await saves.request(ASK);
  saves = await open(1);
  await master.clock.advance(saveLimitMs(0, 0));
  expect(await saves.request({ ...ASK, choice: 1 })).toEqual({ pass: 1, choice: 1 });
});
