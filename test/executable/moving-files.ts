/** A job whose units move while it trains, and what the commands about its checkpoints and its model must say. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import * as z from 'zod';
import type { Place } from './harness.ts';
import type { Entries, JobStore } from './job-store.ts';
import { UNHURRIED_JOB } from './planted-job.ts';
import type { Running } from './processes.ts';
import { eventually, JOB_FOLDER } from './run.ts';

const UNITS = 32;
export const DIR = ['--dir', JOB_FOLDER];
export const CHECKPOINTS = `${JOB_FOLDER}/checkpoints`;
export const RESIZABLE = { ...UNHURRIED_JOB, cluster: { ...UNHURRIED_JOB.cluster, maxPservers: 4, units: UNITS } };
/** Training goes on while all of it is tried. Each unit that is copied stops its pserver for a moment. */
export const SLOWLY = 'trainer.dealt:delay=200,round.applied:delay=200,move.copied:delay=150';

const inspectedSchema = z.object({
  shards: z.object({ missing: z.array(z.number()) }),
  positions: z.object({ digest: z.string(), progress: z.object({ applied: z.number() }).optional() }),
  digests: z.object({ modelDigest: z.string(), stateDigest: z.string() }),
});

export async function inspected(place: Place, ...what: string[]) {
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

/** From 2 pservers to 3, and to `down`: each time the commands are tried while some units have moved. */
export async function resizeUpAndDown(place: Place, store: JobStore, down: number): Promise<void> {
  for (const { from, to } of [
    { from: 2, to: 3 },
    { from: 3, to: down },
  ]) {
    const resizing = await resizeHalfWay(place, store, to, from);
    await expectCommandsWork(place);
    await expectResized(resizing);
  }
}

let exports = 0;

/** The CSV files together, by name; of another format nothing. */
export async function exported(place: Place, folder: string, format = 'csv'): Promise<Record<string, string>> {
  const out = `exported-${++exports}`;
  const written = await place.json('checkpoint', 'export', folder, '--as', format, '--output', out);
  expect(written).toMatchObject({ dense: [{ name: 'bias' }], tables: [{ name: 'w', width: 1 }] });
  if (format !== 'csv') return {};
  const names = readdirSync(place.path(out)).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(place.path(out, name), 'utf8')]));
}

/** Ends in mid-run, as by Ctrl-C. */
export async function interrupt(running: Running, store: JobStore): Promise<void> {
  running.kill('SIGINT');
  await running.ended;
  expect(await store.get('/result')).toBeUndefined();
}

/** Distributes the files to so many pservers: nothing is lost by it, and no other file stays. */
export async function restore(place: Place, pservers: number): Promise<void> {
  const [before, content] = await Promise.all([inspected(place, ...DIR), exported(place, JOB_FOLDER)]);
  expect(await place.json('restore', ...DIR, '--pservers', String(pservers))).toMatchObject({ published: true });
  expect(await Promise.all([inspected(place, ...DIR), exported(place, JOB_FOLDER)])).toEqual([before, content]);
  const folders = readdirSync(place.path(CHECKPOINTS)).sort();
  expect(folders).toEqual(Array.from({ length: pservers }, (_, index) => String(index)));
  for (const folder of folders) expect(readdirSync(place.path(CHECKPOINTS, folder))).toHaveLength(1);
}
