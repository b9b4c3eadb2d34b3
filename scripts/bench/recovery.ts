/**
 * `npx node scripts/bench/recovery.ts [--load-gb 1] [--save-gb 2]`: one real pserver that holds so much.
 *
 * - How long pushes wait while it saves: latencies of pushes sent one after the other, before and during a save.
 * - From the claim of its index to the first answered pull after a SIGKILL, beside its parts measured alone on the same
 *   file: reading, MD5, building the tables.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { PserverGroup } from '../../src/cluster/client/pserver-group.ts';
import { type Figure, percentile, printFigures } from './figure.ts';
import {
  idsFrom,
  keys,
  load,
  never,
  type OnePserver,
  type Pusher,
  processorTime,
  save,
  say,
  startOne,
} from './one-pserver.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    'load-gb': { type: 'string', default: '1' },
    'save-gb': { type: 'string', default: '2' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
  },
});
const TIMED_IDS = 500;
const BASELINE_PUSHES = 1_500;

async function timedPushes(pusher: Pusher, goOn: (count: number) => boolean): Promise<number[]> {
  const latencies: number[] = [];
  while (goOn(latencies.length)) {
    const beganMs = performance.now();
    await pusher.push(TIMED_IDS, false);
    latencies.push(performance.now() - beganMs);
  }
  return latencies;
}

const BOUNDS = [1, 2, 5, 10, 20, 50, 100, Number.POSITIVE_INFINITY];

function histogram(latencies: readonly number[]): string {
  let below = 0;
  return BOUNDS.map((bound) => {
    const upTo = latencies.filter((ms) => ms <= bound).length;
    const text = `${bound === Number.POSITIVE_INFINITY ? 'more' : `≤${bound}`}: ${upTo - below}`;
    below = upTo;
    return text;
  }).join('  ');
}

async function measureSave(pusher: Pusher, group: PserverGroup): Promise<{ figures: Figure[]; uuid: string }> {
  const before = await timedPushes(pusher, (count) => count < BASELINE_PUSHES);
  const beganMs = performance.now();
  let saved: { uuid: string; bytes: number } | undefined;
  let tookMs = 0;
  const saving = save(group).then((file) => {
    saved = file;
    tookMs = performance.now() - beganMs;
  });
  const during = await timedPushes(pusher, () => saved === undefined);
  await saving;
  say(`pushes by milliseconds, before the save: ${histogram(before)}`);
  say(`                       during the save:  ${histogram(during)}`);
  const ms = (what: string, value: number): Figure => ({ what, value, unit: 'ms' });
  const max = (latencies: readonly number[]): number => percentile(latencies, 1);
  return {
    uuid: saved!.uuid,
    figures: [
      { what: 'saved', value: saved!.bytes / 1e9, unit: `GB in ${(tookMs / 1000).toFixed(1)} s` },
      ms('push, median before', percentile(before, 0.5)),
      ms('push, median during', percentile(during, 0.5)),
      ms('push, 99 % during', percentile(during, 0.99)),
      ms('push, longest before', max(before)),
      { ...ms('push, longest during', max(during)), aim: { of: 'value', bound: 20, best: 'low' } },
    ],
  };
}

async function measureLoad({ client, group, job, roles, pserver }: OnePserver): Promise<Figure[]> {
  const { uuid, bytes } = await save(group);
  const token = (await job.store.get(keys.ps(0)))!.createRevision;
  pserver.kill('SIGKILL');
  await once(pserver, 'exit');
  const next = roles.startPserver();
  for (;;) {
    const claim = await job.store.get(keys.ps(0));
    if (claim !== undefined && claim.createRevision !== token) break;
    await new Promise((done) => setTimeout(done, 5));
  }
  const claimedMs = performance.now();
  const processorBefore = processorTime(next.pid!);
  await client.pull([idsFrom(0n, 1000)], never);
  const seconds = (performance.now() - claimedMs) / 1000;
  const processorSeconds = processorTime(next.pid!) - processorBefore;
  const parts = readParts(join(roles.folder, 'roles/checkpoints/0', uuid));
  return [
    {
      what: `claim to first pull, ${(bytes / 1e9).toFixed(2)} GB`,
      value: seconds,
      unit: 's',
      aim: { of: 'value', bound: 3, best: 'low' },
    },
    { what: '  processor time of it', value: processorSeconds, unit: 's' },
    { what: '  reading alone', value: parts.readSeconds, unit: 's' },
    { what: '  MD5 alone', value: parts.md5Seconds, unit: 's' },
    {
      what: '  the rest: building, taking shards',
      value: seconds - 2 * parts.readSeconds - parts.md5Seconds,
      unit: 's',
    },
  ];
}

function readParts(path: string): { readSeconds: number; md5Seconds: number } {
  const file = openSync(path, 'r');
  const chunk = Buffer.alloc(4 * 1024 * 1024);
  const hash = createHash('md5');
  let readSeconds = 0;
  let md5Seconds = 0;
  for (;;) {
    const atMs = performance.now();
    const count = readSync(file, chunk);
    const readMs = performance.now();
    if (count === 0) break;
    hash.update(chunk.subarray(0, count));
    readSeconds += (readMs - atMs) / 1000;
    md5Seconds += (performance.now() - readMs) / 1000;
  }
  closeSync(file);
  return { readSeconds, md5Seconds };
}

say(`load before: ${load()}`);
const one = await startOne(values.paddlet);
const { pusher, group } = one;
await pusher.growTo(Number(values['load-gb']) * 1e9);
const loading = await measureLoad(one);
printFigures(loading);
await pusher.synchronize();
await pusher.growTo(Number(values['save-gb']) * 1e9);
const { figures } = await measureSave(pusher, group);
printFigures(figures);
say(`load after: ${load()}`);
process.exit(0);
