/**
 * The commands about checkpoints and models while units move between pservers, and of the files of a cluster that was
 * resized.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { openCheckpoint } from '../../src/checkpoint/file/reader.ts';
import { type JobResult, jobResultSchema } from '../../src/cluster/job/job-result.ts';
import { createDisk } from '../../src/host/disk.ts';
import { referenceOf } from '../sync/reference-loop.ts';
import { openPlace, type Place, resultOf } from './harness.ts';
import type { Entries, JobStore } from './job-store.ts';
import { expectWhole, JOB, PASSES, plantedJob } from './planted-job.ts';
import type { Running } from './processes.ts';
import { eventually, JOB_FOLDER, startRun } from './run.ts';

const UNITS = 32;
const RECORDS = 16_000;
const BATCHES_PER_PASS = RECORDS / JOB.training.batchSize;
const DIR = ['--dir', JOB_FOLDER];
const CHECKPOINTS = `${JOB_FOLDER}/checkpoints`;
const RESIZABLE = { ...JOB, cluster: { ...JOB.cluster, maxPservers: 4, units: UNITS } };
/** Training goes on while all of it is tried. Each unit that is copied stops its pserver for a moment. */
const SLOWLY = 'trainer.dealt:delay=200,round.applied:delay=200,move.copied:delay=150';

const inspectedSchema = z.object({
  shards: z.object({ missing: z.array(z.number()) }),
  positions: z.object({ digest: z.string(), progress: z.object({ applied: z.number() }).optional() }),
  digests: z.object({ modelDigest: z.string(), stateDigest: z.string() }),
});

async function inspected(place: Place, ...what: string[]) {
  const found = inspectedSchema.parse(await place.json('checkpoint', 'inspect', ...what, '--digest'));
  expect(found.shards.missing).toEqual([]);
  return found;
}

/** Units whose head names that index. */
const unitsOf = (entries: Entries, index: number): number =>
  [...entries].filter(([key, { value }]) => key.startsWith('/heads/') && value.includes(`"primary":{"index":${index},`))
    .length;

/** Begins a resize; resolves when some of the units of the highest index have moved, and others have not. */
async function resizeHalfWay(place: Place, store: JobStore, pservers: number, from: number): Promise<Running> {
  const share = Math.floor(UNITS / from);
  await store.until((entries) => unitsOf(entries, 0) >= share && unitsOf(entries, from - 1) >= share);
  const resizing = place.start(`resize to ${pservers}`, ['resize', ...DIR, '--pservers', String(pservers), '--json']);
  const moved = Math.max(pservers, from) - 1;
  const full = Math.floor(UNITS / (moved + 1));
  await store.until((entries) => unitsOf(entries, moved) > 0 && unitsOf(entries, moved) < full, resizing);
  return resizing;
}

async function expectResized(resizing: Running): Promise<void> {
  const { code, out } = await resizing.ended;
  expect([code, JSON.parse(out)]).toMatchObject([0, { outcome: 'settled', units: { toMove: 0, orphans: 0 } }]);
}

const savedSchema = z.object({
  cut: z.object({ outcome: z.literal('saved') }).optional(),
  pservers: z.array(z.object({ index: z.number(), outcome: z.literal('saved'), uuid: z.string() })),
});

/** What each command about a running job says is whole, whichever moment it finds. */
async function expectCommandsWork(place: Place): Promise<void> {
  const evaluated = place.json('evaluate', ...DIR);
  // A request is ignored while the pservers save for one that leaves.
  await eventually(async () => savedSchema.parse(await place.json('checkpoint', 'save', ...DIR)));
  expect(await evaluated).toMatchObject({ model: 'pservers', records: 5_000, bad: 0 });
  const [verified] = await Promise.all([
    place.json('checkpoint', 'verify', ...DIR),
    inspected(place, ...DIR),
    exported(place, JOB_FOLDER, 'npz'),
  ]);
  expect(verified).toMatchObject({ ok: true, missing: [] });
}

let exports = 0;

/** The CSV files together, by name; of another format nothing. */
async function exported(place: Place, folder: string, format = 'csv'): Promise<Record<string, string>> {
  const out = `exported-${++exports}`;
  const written = await place.json('checkpoint', 'export', folder, '--format', format, '--out', out);
  expect(written).toMatchObject({ dense: [{ name: 'bias' }], tables: [{ name: 'w', width: 1 }] });
  if (format !== 'csv') return {};
  const names = readdirSync(place.path(out)).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(place.path(out, name), 'utf8')]));
}

/** Ends in mid-run, as by Ctrl-C. */
async function interrupt(running: Running, store: JobStore): Promise<void> {
  running.kill('SIGINT');
  await running.ended;
  expect(await store.get('/result')).toBeUndefined();
}

/** Distributes the files to so many pservers: nothing is lost by it, and no other file stays. */
async function restore(place: Place, pservers: number): Promise<void> {
  const [before, content] = await Promise.all([inspected(place, ...DIR), exported(place, JOB_FOLDER)]);
  expect(await place.json('restore', ...DIR, '--pservers', String(pservers))).toMatchObject({ published: true });
  expect(await Promise.all([inspected(place, ...DIR), exported(place, JOB_FOLDER)])).toEqual([before, content]);
  const folders = readdirSync(place.path(CHECKPOINTS)).sort();
  expect(folders).toEqual(Array.from({ length: pservers }, (_, index) => String(index)));
  for (const folder of folders) expect(readdirSync(place.path(CHECKPOINTS, folder))).toHaveLength(1);
}

/** Updates of the bias over all pservers, as Adam counts them. */
async function biasSteps(place: Place, folder: string, { checkpoints }: JobResult): Promise<number> {
  let steps = 0;
  for (const { index, uuid } of checkpoints) {
    const reader = await openCheckpoint(createDisk(), place.path(folder, 'checkpoints', String(index), uuid));
    for (const { shard } of reader.positions) for await (const { step } of reader.blocksOf(shard)) steps += step ?? 0;
    await reader.close();
  }
  return steps;
}

test('async: save, evaluate, export while units move; restore, resume and a warm start from the files', async () => {
  const place = openPlace();
  const { running, store, args } = await startRun(place, await plantedJob(place, RESIZABLE), SLOWLY);
  const up = await resizeHalfWay(place, store, 3, 2);
  await expectCommandsWork(place);
  await expectResized(up);
  const down = await resizeHalfWay(place, store, 2, 3);
  await expectCommandsWork(place);
  await expectResized(down);
  await interrupt(running, store);
  await restore(place, 3);

  const result = await resultOf(place.start('run again', args));
  expect(result.checkpoints.map(({ index }) => index)).toEqual([0, 1, 2]);
  await expectWhole(place, result, place.path(CHECKPOINTS));
  expect(await place.json('evaluate', ...DIR)).toMatchObject({ model: 'checkpoints', auc: result.metrics.test?.auc });
  expect(await exported(place, JOB_FOLDER, 'safetensors')).toEqual({});

  const cluster = { ...JOB.cluster, pservers: 1, shards: 5 };
  const second = {
    ...JOB,
    name: 'second',
    cluster,
    warmStart: { from: JOB_FOLDER },
    training: { passes: 1, batchSize: 50 },
  };
  const warm = jobResultSchema.parse(await place.json('run', place.writeJob(second, 'second.yaml'), '--dir', 'second'));
  expect(warm.warmStart).toMatchObject({ job: JOB.name, loaded: [{ name: 'bias' }, { name: 'w' }] });
  expect(await biasSteps(place, 'second', warm)).toBe((PASSES + 1) * BATCHES_PER_PASS);
});

test('sync: the exported bits are those of a job of one pserver that is left alone', async () => {
  const place = openPlace();
  const sync = { ...RESIZABLE, training: { mode: 'sync', lanes: 4, passes: 3, batchSize: 50 } };
  const { running, store, args } = await startRun(place, await plantedJob(place, sync), SLOWLY);
  const up = await resizeHalfWay(place, store, 3, 2);
  await expectCommandsWork(place);
  await expectResized(up);
  const down = await resizeHalfWay(place, store, 1, 3);
  await expectCommandsWork(place);
  await expectResized(down);
  await interrupt(running, store);
  await restore(place, 2);

  const { modelDigest, stateDigest, records } = await resultOf(place.start('run again', args));
  const plain = await referenceOf(sync, place.path());
  expect({ modelDigest, stateDigest }).toEqual({ modelDigest: plain.modelDigest, stateDigest: plain.stateDigest });
  expect(records).toMatchObject({ applied: plain.applied, lost: 0 });
  expect((await inspected(place, ...DIR)).digests).toMatchObject({ modelDigest, stateDigest });

  const alone = place.writeJob({ ...sync, name: 'alone', cluster: { ...JOB.cluster, pservers: 1 } }, 'alone.yaml');
  await place.json('run', alone, '--dir', 'alone');
  expect(await exported(place, JOB_FOLDER)).toEqual(await exported(place, 'alone'));
  expect(await place.json('checkpoint', 'diff', 'alone', JOB_FOLDER)).toMatchObject({ same: true, unlike: [] });
});
