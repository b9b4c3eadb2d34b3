/** A model from files alone predicts what that of the job predicts; what does not hold a whole model is refused. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ExportColumn, exportMetadata } from '../../../src/checkpoint/export/export.ts';
import { exportFile } from '../../../src/checkpoint/export/files.ts';
import { createSafetensorsSink } from '../../../src/checkpoint/export/safetensors.ts';
import type { ExpectedJob } from '../../../src/checkpoint/load/load.ts';
import { chooseVariables } from '../../../src/checkpoint/set/checkpoint-set.ts';
import { type CheckpointModel, openCheckpointModel } from '../../../src/cluster/client/checkpoint-model.ts';
import { localPulls } from '../../../src/cluster/client/local-pulls.ts';
import type { ParameterClient } from '../../../src/cluster/client/parameter-client.ts';
import { carriedRecord } from '../../../src/cluster/job/carried-record.ts';
import { trainedSpecOf } from '../../../src/cluster/job/job-model.ts';
import type { JobRecord } from '../../../src/cluster/job/job-record.ts';
import { evaluateFiles } from '../../../src/roles/evaluator/evaluate-files.ts';
import { type SavedCluster, saveCluster, wholeParameters, withSet } from '../../checkpoint/cluster-fixture.ts';
import { uuidOf } from '../../checkpoint/fixture.ts';
import { testPlace } from '../../data/place.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../../simulated-disk.ts';
import { FakeClock, SILENT } from '../../store/support.ts';
import { aJob, recordOf } from '../job/stored-job.ts';

const columns = { click: 'label', price: 'number', age: { type: 'number', quantiles: 4 }, city: 'category' };
const data = { train: 'train.csv', test: 'test.csv', format: 'csv', columns };
const count = { present: 8, missing: 2 };
/** Those of training files that are gone. */
const statistics = [
  { name: 'price', ...count, mean: 10, deviation: 4, min: 1, max: 30 },
  { name: 'age', ...count, mean: 40, deviation: 9, min: 18, max: 80, bounds: [25, 38, 60] },
];
const record = recordOf(aJob({ data }), { train: { columns: { fields: 4, statistics } } });
const { training, cluster } = record.job;
const JOB: ExpectedJob = {
  ...{ jobId: record.id, seed: training.seed, shards: cluster.shards },
  parameters: trainedSpecOf(record),
};
const META = { job: carriedRecord(record), jobName: record.job.name };
const CITIES = ['rome', 'oslo', 'lima'];
const LINES = Array.from({ length: 60 }, (_, at) => {
  const price = at % 7 === 0 ? '' : String((at * 13) % 31);
  return `${at % 2},${price},${18 + ((at * 5) % 60)},${CITIES[at % 3]}`;
});

const place = testPlace();
const random = { uuid: () => uuidOf(0xabc) };
let disk: SimulatedDisk;
let saved: SavedCluster;

type Client = Pick<ParameterClient, 'pull'>;

async function scored(client: Client, of: JobRecord = record) {
  const { metrics } = await evaluateFiles({
    ...{ place, clock: new FakeClock(), record: of, client, files: ['test.csv'], labels: [] },
    ...{ signal: new AbortController().signal, onTask: () => {} },
  });
  return metrics;
}

/** Every id that the records have. */
async function idsOfRecords(): Promise<bigint[]> {
  const empty = wholeParameters(JOB, [], 0);
  const pulls = localPulls(empty, JOB.parameters);
  const seen = new Set<bigint>();
  const noting: Client = {
    pull: (lists, signal) => {
      for (const { ids, count: n } of lists)
        for (const id of new BigUint64Array(ids.slice(0, 8 * n).buffer)) seen.add(id);
      return pulls.pull(lists, signal);
    },
  };
  await scored(noting);
  return [...seen];
}

beforeAll(async () => {
  writeFileSync(join(place.folder, 'test.csv'), ['click,price,age,city', ...LINES, ''].join('\n'));
  disk = createSimulatedDisk();
  saved = await saveCluster({
    storage: disk.storage,
    pservers: 2,
    job: JOB,
    folder: '/job/checkpoints',
    ids: await idsOfRecords(),
    meta: META,
  });
});

const open = (path: string): Promise<CheckpointModel> =>
  openCheckpointModel({ host: { storage: disk.storage, log: SILENT }, path });

async function exported(out: string, vars: readonly string[] = []): Promise<string> {
  const options = { storage: disk.storage, random, format: 'safetensors', out, state: true, replace: false } as const;
  await withSet(disk.storage, saved.refs, (set) => {
    const variables = chooseVariables(set.facts.parameters, vars);
    return exportFile({ ...options, set, variables });
  });
  return out;
}

describe('a model from files', () => {
  it('scores as the model of the job does: a job folder, its checkpoints, a merged model', async () => {
    const wanted = await scored(localPulls(saved.whole, JOB.parameters));
    expect(wanted.records).toBe(LINES.length);
    expect(wanted.logloss).not.toBeCloseTo(Math.LN2, 2);
    for (const path of ['/job', '/job/checkpoints', await exported('/models/all')]) {
      const model = await open(path);
      expect(model.record).toEqual(record);
      expect(await scored(model.client, model.record), path).toEqual(wanted);
    }
  });

  it('says which files it is from, and when they were written', async () => {
    const { checkpoint } = await open('/job');
    expect(checkpoint).toEqual({ files: saved.refs.map(({ path }) => path), createdAt: 1_700_000_000.25 });
  });

  it('is one file where one has all shards', async () => {
    const { refs } = await saveCluster({ storage: disk.storage, pservers: 1, job: JOB, folder: '/one', meta: META });
    expect((await open(refs[0]!.path)).record.id).toBe(record.id);
  });

  const refused = async (path: string, code: string, text: string): Promise<void> => {
    const error: unknown = await open(path).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, message: expect.stringContaining(text), hint: expect.any(String) });
  };

  it('is refused where there is no checkpoint, or only a part of one', async () => {
    await expect(open('/nowhere')).rejects.toMatchObject({ code: 'CheckpointMissing' });
    await refused('/models', 'CheckpointMissing', 'the folder contains no checkpoints');
    await refused(saved.refs[1]!.path, 'CheckpointMissing', '4 of 8 shards');
    await refused(
      await exported('/models/some', ['w']),
      'CheckpointCorrupt',
      'expected the parameters of the model of its job',
    );
  });

  it('is refused where files are of several jobs, or have no record of theirs', async () => {
    const folder = '/shared';
    await saveCluster({ storage: disk.storage, pservers: 1, job: JOB, folder, meta: META });
    await saveCluster({ storage: disk.storage, pservers: 2, job: { ...JOB, jobId: 'another' }, folder, names: 9 });
    await refused(folder, 'CheckpointCorrupt', 'belongs to job');
    await saveCluster({ storage: disk.storage, pservers: 1, job: JOB, folder: '/before' });
    await refused('/before', 'VersionMismatch', 'does not contain the record of its job');
  });

  it('is refused when a file is damaged', async () => {
    const { refs } = await saveCluster({
      storage: disk.storage,
      pservers: 1,
      job: JOB,
      folder: '/damaged',
      meta: META,
    });
    const { path } = refs[0]!;
    const file = await disk.open(path);
    const bytes = new Uint8Array(await file.size());
    await file.read(bytes, 0);
    await file.close();
    bytes[bytes.length - 40]! ^= 1;
    const written = await disk.create('/damaged/0/copy');
    await written.write(bytes, 0);
    await written.close();
    await disk.rename('/damaged/0/copy', path);
    await expect(open('/damaged')).rejects.toMatchObject({ code: 'CheckpointCorrupt' });
  });
});

describe('a merged model', () => {
  async function written(path: string, ids: readonly bigint[], changes: Record<string, string> = {}): Promise<string> {
    const table: ExportColumn = { name: 'sparse/w/ids', dtype: 'U64', shape: [ids.length] };
    const values: ExportColumn = { name: 'sparse/w/values', dtype: 'F32', shape: [ids.length, 1] };
    const dense = JOB.parameters.dense.map(({ name, shape }): ExportColumn => {
      return { name: `dense/${name}/values`, dtype: 'F32', shape };
    });
    const metadata = await withSet(disk.storage, saved.refs, async (set) =>
      exportMetadata({ set, state: false, variables: chooseVariables(set.facts.parameters, []) }),
    );
    await disk.makeFolder('/m');
    const file = await disk.create(path);
    const sink = await createSafetensorsSink(file, [table, values, ...dense], { ...metadata, ...changes });
    await sink.write(table, new Uint8Array(BigUint64Array.from(ids).buffer));
    await sink.write(values, new Uint8Array(Float32Array.from(ids, Number).buffer));
    for (const one of dense) await sink.write(one, new Uint8Array(4 * one.shape.reduce((a, b) => a * b, 1)));
    await sink.finish();
    await file.close();
    return path;
  }

  it('may have its rows in any order', async () => {
    const { client } = await open(await written('/m/any', [9n, 2n, 5n]));
    const ids = new Uint8Array(BigUint64Array.of(2n, 3n, 5n, 9n).buffer);
    const { sparse } = await client.pull([{ ids, count: 4 }], new AbortController().signal);
    expect(sparse).toEqual([Float32Array.of(2, 0, 5, 9)]);
  });

  it.each([
    ['an id that comes twice', [9n, 2n, 9n], {}, 'CheckpointCorrupt', '1 of 3 ids are repeated'],
    ['metadata that are none', [9n], { shards: '0' }, 'CheckpointCorrupt', '__metadata__: shards'],
    ['another version', [9n], { formatVersion: '1' }, 'VersionMismatch', 'got version 1'],
  ] as const)('is refused for %s', async (what, ids, changes, code, text) => {
    const path = await written(`/m/${what}`, ids, changes);
    await expect(open(path)).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
  });
});
