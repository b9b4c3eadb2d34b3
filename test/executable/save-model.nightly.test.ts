/** The merged model after each pass, written by one of three trainers, some of which die. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withFile } from '../../src/base/files.ts';
import { readElements, readSafetensors } from '../../src/checkpoint/file/safetensors/reader.ts';
import { createDisk } from '../../src/host/disk.ts';
import { commandLines, HAND_FOLDER } from './by-hand.ts';
import { endWell, openPlace, type Place, resultOf } from './harness.ts';
import { expectWhole, JOB, PASSES, PUSHES_PER_TASK, plantedJob, TASKS, UNHURRIED_JOB } from './planted-job.ts';
import type { Running } from './processes.ts';
import { JOB_FOLDER, liveProcesses, startRun } from './run.ts';

const savingJob = ({ cluster, ...rest }: typeof JOB) => ({
  ...rest,
  model: { type: 'lr', saveDir: 'models' },
  cluster: { ...cluster, trainers: 3 },
});
/** A trainer that does not write is relieved after two leases, which is soon. */
const job = savingJob(JOB);

/** Ids and values of the table, and the bias. */
async function contentOf(
  place: Place,
  path: string,
): Promise<{ ids: bigint[]; w: number[]; bias: number[]; pass: string | undefined; job: string | undefined }> {
  return withFile(await createDisk().open(place.path(path)), async (file) => {
    const source = await readSafetensors(file, path);
    const tensor = (name: string) => source.tensors.get(name)!;
    const ids = tensor('sparse/w/ids');
    const rows = ids.shape[0]!;
    return {
      ids: [...(await readElements(source, ids, 0, new BigUint64Array(rows)))],
      w: [...(await readElements(source, tensor('sparse/w/values'), 0, new Float32Array(rows)))],
      bias: [...(await readElements(source, tensor('dense/bias/values'), 0, new Float32Array(1)))],
      pass: source.metadata.get('pass'),
      job: source.metadata.get('job'),
    };
  });
}

/** What was written after the last pass is what the checkpoints have. */
async function expectFinal(place: Place, folder: string): Promise<void> {
  const exported = place.path('exported.safetensors');
  await place.json('checkpoint', 'export', folder, '--as', 'safetensors', '--output', exported);
  const last = await contentOf(place, `models/planted-pass-${PASSES}.safetensors`);
  expect(last.pass).toBe(String(PASSES));
  expect(last.job).toContain('"name":"planted"');
  expect({ ...last, pass: undefined }).toEqual({
    ...(await contentOf(place, 'exported.safetensors')),
    pass: undefined,
  });
}

test('is written by one trainer a pass; when that one dies another writes it; the last is the final model', async () => {
  const place = openPlace();
  const { running, store } = await startRun(place, await plantedJob(place, job));
  const masterLog = (): string => readFileSync(place.path(JOB_FOLDER, 'logs/master.log'), 'utf8');
  const chosen = (): string[] =>
    [...masterLog().matchAll(/trainer (\S+) saves the model after pass \d+/g)].map(([, id]) => id!);
  await store.passesOver(1, running);
  await expect.poll(() => chosen().length).toBeGreaterThan(0);
  const busy = chosen().at(-1)!;
  const process_ = (await liveProcesses(place)).find(({ id }) => id === busy);
  if (process_ !== undefined) process.kill(process_.pid, 'SIGKILL');
  const result = await resultOf(running);
  await expectWhole(place, result, place.path(JOB_FOLDER, 'checkpoints'));

  const files = readdirSync(place.path('models'));
  expect(files.filter((name) => !/^planted-pass-\d+\.safetensors$/.test(name))).toEqual([]);
  expect(files).toContain(`planted-pass-${PASSES}.safetensors`);
  // Each pass has at most one choice more than deaths that hit it.
  const saved = [...masterLog().matchAll(/the model after pass (\d+) is saved/g)].map(([, pass]) => Number(pass));
  expect(saved.length).toBe(new Set(saved).size);
  expect(saved.at(-1)).toBe(PASSES);

  await expectFinal(place, JOB_FOLDER);
});

test('a pserver dies when all tasks are dealt: the last model is the one after the replay of what it lost', async () => {
  const place = openPlace();
  const lines = commandLines(await plantedJob(place, savingJob(UNHURRIED_JOB)));
  const env = { PADDLET_STORE: `sqlite:${place.path('store.db')}` };
  const start = (name: string): Running => place.start(name, lines[name]!, env);
  const hit = place.start('pserver 0', lines['pserver 0']!, {
    ...env,
    PADDLET_FAIL: `push.advanced:kill@${TASKS * PUSHES_PER_TASK - 3}`,
  });
  const others = ['pserver 1', 'trainer 0', 'trainer 1'].map(start);
  const master = start('master');
  expect(await hit.ended).toMatchObject({ code: null, signal: 'SIGKILL' });
  const next = start('pserver 0');
  const result = await resultOf(master);
  await endWell([...others, next]);
  await expectWhole(place, result, place.path(HAND_FOLDER, 'checkpoints'));
  expect(master.err).toMatch(/replaying \d+ tasks that were reported as done/);
  await expectFinal(place, `${HAND_FOLDER}/checkpoints`);
});

test('one that stands still while it writes is relieved after the block time', async () => {
  const place = openPlace();
  const path = await plantedJob(place, job);
  // Much longer than twice the lease: every trainer, at the first model that it writes.
  const env = { PADDLET_FAIL: 'model.written:delay=15000@1' };
  const running = place.start('run', ['run', path, '--dir', JOB_FOLDER, '--json'], env);
  const result = await resultOf(running);
  await expectWhole(place, result, place.path(JOB_FOLDER, 'checkpoints'));
  const log = readFileSync(place.path(JOB_FOLDER, 'logs/master.log'), 'utf8');
  const told = [...log.matchAll(/trainer (\S+) (saves) the model|the model after pass \d+ is (saved)/g)];
  const relieved = told.some(([, , is], at) => is === 'saves' && told[at + 1]?.[2] === 'saves');
  expect(relieved, 'one chosen after another, with nothing saved in between').toBe(true);
  expect(readdirSync(place.path('models')).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test('a folder that cannot be written fails the job, and says so', async () => {
  const place = openPlace();
  const path = await plantedJob(place, {
    ...job,
    model: { type: 'lr', saveDir: '/proc/nowhere' },
    training: { passes: 1 },
  });
  const { code, err } = await place.paddlet('run', path, '--dir', JOB_FOLDER);
  expect(code).toBe(6);
  expect(err).toMatch(/ModelNotSaved.*model after pass 1 could not be saved/);
});
