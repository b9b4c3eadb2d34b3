/** What a master puts into the store as `/job`: a value that every role can read, or nothing. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { JOB_RECORD_VERSION, readJobRecord } from '../../../src/cluster/job/job-record.ts';
import { noTraits } from '../../../src/data/oddities.ts';
import type { DataIndex } from '../../../src/data/source.ts';
import { publishJob } from '../../../src/roles/master/publish-job.ts';
import { aJob } from '../../cluster/job/stored-job.ts';
import { aStore, Master } from './tasks/service-rig.ts';

/** Facts of the index, which nothing else of the data is asked for. */
function publish(facts: Partial<DataIndex>, job = aJob()) {
  const { clock, data } = aStore();
  const { context: master, fence } = new Master(clock, data);
  const warnings: string[] = [];
  const log = { ...master.host.log, warn: (message: string) => void warnings.push(message) };
  const host = { ...master.host, log, random: { uuid: randomUUID, fraction: () => 0.5 } };
  const context = { ...master, host };
  const empty = { format: 'libsvm', files: [], chunks: [], digest: 'd' };
  const index = { ...empty, records: 1, featureBound: '1', fieldBound: 0, labelBound: 2, traits: noTraits(), ...facts };
  const train = { index, tasks: [[]], taskRecords: Uint32Array.of(1), tasksAtOnce: 1 };
  const published = publishJob({
    context,
    fence,
    dataDir: '/',
    loadData: async () => ({ job, data: { train, test: undefined } }),
    standing: { kind: 'new', resultRevision: 0n },
    stopSignal: new AbortController().signal,
  });
  return { published, warnings, read: () => readJobRecord(context.store, context.keys) };
}

it('has the highest feature bound that there is', async () => {
  const { published, read } = publish({ featureBound: String(2n ** 64n) });
  await published;
  expect(await read()).toMatchObject({ version: JOB_RECORD_VERSION, train: { featureBound: '18446744073709551616' } });
});

it.each([
  ['train.records', { records: 2 ** 53 }],
  ['train.featureBound', { featureBound: '1e20' }],
])('is not written when no role could read its %s', async (field, facts) => {
  const { published, read } = publish(facts);
  await expect(published).rejects.toMatchObject({
    code: 'JobInvalid',
    message: expect.stringContaining(`job: ${field}: `),
  });
  expect(await read()).toBeUndefined();
});

it('has weights only of classes that the data has', async () => {
  const job = (classWeights: object) =>
    aJob({
      data: { train: 'images-idx3-ubyte', format: 'idx' },
      model: { type: 'softmax' },
      training: { classWeights },
    });
  await publish({ labelBound: 3 }, job({ 2: 5 })).published;
  const { published, read } = publish({ labelBound: 3 }, job({ 0: 5, 3: 5 }));
  await expect(published).rejects.toMatchObject({
    code: 'JobInvalid',
    message: 'training.classWeights.3: the data has no class 3',
    hint: 'the classes of the data are 0 to 2',
  });
  expect(await read()).toBeUndefined();
});

describe('dense parameters that one pserver may have', () => {
  const mlp = (hidden: number[], cluster: object = {}, model: object = {}) =>
    aJob({
      data: { train: 'images-idx3-ubyte', format: 'idx' },
      model: { type: 'mlp', hidden, ...model },
      cluster: { pservers: 4, ...cluster },
    });
  const facts = { featureBound: '784', labelBound: 10 };

  it('are in one frame, also after a resize to minPservers', async () => {
    // In all a little more than a frame takes with its margin.
    const { published, read } = publish(facts, mlp([8000, 8000]));
    await expect(published).rejects.toMatchObject({
      code: 'JobInvalid',
      message:
        'the dense parameters take 268.4 MiB in all (the largest is hidden2.W of shape [8000, 8000] with 244.1 MiB), but ' +
        'cluster.minPservers is 1, and each pserver can hold at most 232.7 MiB',
      hint: 'lower model.hidden, or set cluster.minPservers to 2 or more',
    });
    expect(await read()).toBeUndefined();
    const spread = publish(facts, mlp([8000, 8000], { minPservers: 2 }));
    await spread.published;
    expect(await spread.read()).toBeDefined();
  });

  it('are named with their model where no number of pservers helps', async () => {
    const { published } = publish({ ...facts, featureBound: '65536' }, mlp([65_536]));
    await expect(published).rejects.toMatchObject({
      code: 'JobInvalid',
      message: expect.stringContaining('hidden1.W: shape [65536, 65536]'),
      hint: 'lower model.hidden',
    });
  });

  it.each([
    ['softmax', { type: 'softmax' }, 'set cluster.minPservers to 2 or more'],
    [
      'layers',
      { type: 'layers', task: 'multiclass', layers: [{ type: 'numbers' }, { type: 'dense', units: 100 }] },
      'lower `units` in model.layers, or set cluster.minPservers to 2 or more',
    ],
  ])('of %s: the hint says what there is to change', async (_, model, hint) => {
    const { published } = publish(
      { featureBound: '900000', labelBound: 100 },
      aJob({
        data: { train: 'images-idx3-ubyte', format: 'idx' },
        model,
      }),
    );
    await expect(published).rejects.toMatchObject({ code: 'JobInvalid', hint });
  });
});

it('is told with warnings of data that can hardly be meant', async () => {
  const traits = { ...noTraits(), withoutFeatures: ['a.weight'], hasZero: true, hasOne: true, hasMinusOne: true };
  const { published, warnings } = publish({ traits });
  await published;
  expect(warnings).toEqual([
    expect.stringContaining('a.weight'),
    expect.stringContaining('both the label 0 and the label -1'),
  ]);
});

it('warns of counts that are never forgotten, and refuses a bound that is too small', async () => {
  const jobWith = (tables: object) => aJob({ tables });
  const admission = { type: 'count', min: 2 };
  const forever = publish({}, jobWith({ w: { admission } }));
  await forever.published;
  expect(forever.warnings).toEqual([expect.stringContaining('tables.w counts the updates of ids')]);
  const aging = publish({}, jobWith({ w: { admission, eviction: { unseenPasses: 1 } } }));
  await aging.published;
  expect(aging.warnings).toEqual([]);
  const small = publish({}, jobWith({ w: { maxBytes: 100 } }));
  await expect(small.published).rejects.toMatchObject({
    code: 'JobInvalid',
    message: expect.stringContaining('tables.w.maxBytes: expected at least'),
  });
  expect(await small.read()).toBeUndefined();
});
