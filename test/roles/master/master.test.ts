/** How a master ends when another one has ended the job. */
import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import type { RoleContext } from '../../../src/cluster/context.ts';
import { factsOf, loadJobData } from '../../../src/roles/master/dataset.ts';
import { runMaster } from '../../../src/roles/master/master.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import type { Op } from '../../../src/store/store.ts';
import { aJob, aResult, finishing, publishing, recordOf } from '../../cluster/job/stored-job.ts';
import { createSimulatedDisk } from '../../simulated-disk.ts';
import { aStore, Master, settled } from './tasks/service-rig.ts';

const FOLDER = '/data';
const CACHE = '/cache';
const MORE_PASSES = 4;
/** Paddlet would not choose this number: a master that did not keep it would find other data. */
const ONE_BY_ONE = { recordsPerTask: 1 };

let data: MemoryStoreData;
let rig: Master;
let context: RoleContext;

const write = (...then: Op[]): void => void data.txn({ if: [], then });

async function settle(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await settled();
}

/** A finished job, and a master that is to give it more passes. */
beforeEach(async () => {
  const store = aStore();
  data = store.data;
  rig = new Master(store.clock, data);
  const disk = createSimulatedDisk();
  disk.place(`${FOLDER}/train.libsvm`, Buffer.from('1 1:1\n0 2:1\n1 3:1\n'));
  const random = { uuid: randomUUID, fraction: () => 0.5 };
  context = {
    ...rig.context,
    host: { ...rig.context.host, disk, storage: disk.storage, random },
    network: { ...rig.context.network, listen: async () => ({ port: 1, close: async () => {} }) },
    health: () => async () => undefined,
  };
  const { keys } = context;
  const job = aJob({ data: ONE_BY_ONE });
  const { train } = await loadJobData({ host: context.host, folder: FOLDER, cacheFolder: CACHE }, job);
  write(...publishing(keys, recordOf(job, { train: factsOf(train), dataDir: FOLDER })));
  write(...finishing(keys, job), { delete: keys.masterLock });
});

it.each([1, 'auto'] as const)(
  'ends as the job did that another one ended while it slept, before it had continued the job itself; records per task: %s',
  async (recordsPerTask) => {
    const { keys } = context;
    // A pserver of the finished job that is not gone yet is waited for.
    write({ put: keys.ps(0), value: 'here:2' });
    const job = aJob({ passes: MORE_PASSES, data: ONE_BY_ONE });
    const requested = { ...job, data: { ...job.data, recordsPerTask } };
    const running = runMaster(context, {
      job: requested,
      dataDir: FOLDER,
      cacheDir: CACHE,
      checkpointDir: '/checkpoints',
    });
    await settle();
    expect(data.get(keys.masterLock)).toBeDefined();
    write({ delete: keys.result }, { put: keys.passesDesired, value: String(MORE_PASSES) });
    write({ put: keys.result, value: JSON.stringify(aResult(job)) });
    expect(await running).toEqual({ result: aResult(job) });
  },
);
