/** What `run` hears of the master, and what it says when it does not understand it. */
import { expect, it, onTestFinished } from 'vitest';
import { watchMaster } from '../../../src/roles/launcher/watch-master.ts';
import type { DirectingInfo } from '../../../src/view/info.ts';
import { asyncMaster, waitingMaster, waitingPserver } from '../../cluster/role-infos.ts';
import { aStore, Master } from '../master/tasks/service-rig.ts';

const EVERY_MS = 300;

it('shows progress once the master directs the job, and each thing that it does not understand once', async () => {
  const { data, clock } = aStore();
  const { context } = new Master(clock, data);
  let answer: object = waitingMaster;
  const network = {
    connect: (address: string) => ({
      address,
      close: () => {},
      request: async () => ({ header: { type: 'info', info: answer }, free: () => {} }),
    }),
  } as unknown as typeof context.network;
  const shown: DirectingInfo[] = [];
  const warnings: string[] = [];
  const log = { ...context.host.log, warn: (message: string) => void warnings.push(message) };
  const cancel = watchMaster({
    ...context,
    clock,
    log,
    network,
    onProgress: (info) => shown.push(info),
    onAddress: () => {},
  });
  onTestFinished(cancel);
  data.txn({ if: [], then: [{ put: context.keys.masterAddr, value: 'master:1' }] });

  await clock.advance(3 * EVERY_MS);
  expect([shown, warnings]).toEqual([[], []]);
  answer = asyncMaster();
  await clock.advance(EVERY_MS);
  expect([shown, warnings]).toEqual([[answer], []]);
  answer = { ...asyncMaster(), tasks: undefined };
  await clock.advance(4 * EVERY_MS);
  answer = waitingPserver;
  await clock.advance(4 * EVERY_MS);
  expect(shown).toHaveLength(1);
  expect(warnings).toEqual([
    expect.stringMatching(/^cannot show progress: the master sent an answer .*: field tasks: /),
    'cannot show progress: the master did not answer: a pserver has its address now',
  ]);
});
