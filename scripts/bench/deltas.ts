/**
 * `npx node scripts/bench/deltas.ts [--gb 2] [--every-s 10] [--rounds 6] [--hot 0.05]`: what saving deltas costs. One
 * real pserver has tables of `--gb` GB. A client pushes without a pause to rows of a share of the ids, `--hot`. Windows
 * of `--every-s` seconds take turns: one without a save, and one that begins with the save of a delta. Prints the
 * throughput, the longest push, and seconds and bytes of the base and of the deltas, beside the bytes of the rows that
 * changed. A trainer, which computes between its pushes, loses less than this client, which only pushes.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parseEntry } from '../../src/checkpoint/registry/entry.ts';
import { median, printFigures } from './figure.ts';
import { BYTES_PER_ID, keys, load, type Pushed, rate, save, say, startOne } from './one-pserver.ts';

const { values } = parseArgs({
  options: {
    gb: { type: 'string', default: '2' },
    'every-s': { type: 'string', default: '10' },
    rounds: { type: 'string', default: '6' },
    hot: { type: 'string', default: '0.05' },
    paddlet: { type: 'string', default: join(resolve(import.meta.dirname, '../..'), 'dist/paddlet') },
  },
});
const IDS_PER_PUSH = 2_000;
/** Each id has a row in two tables, and each row has a `seen`. */
const BYTES_PER_SAVED_ID = BYTES_PER_ID + 2 * 4;
const windowMs = Number(values['every-s']) * 1000;

say(`load before: ${load()}`);
const { pusher, group, job } = await startOne(values.paddlet, { delta: { interval: '24h', maxShare: 10 } });
await pusher.growTo(Number(values.gb) * 1e9);

interface Saved {
  readonly seconds: number;
  readonly bytes: number;
  readonly rowBytes: number;
}

async function saved(mode: 'base' | 'delta'): Promise<Saved> {
  const beganMs = performance.now();
  const { uuid, bytes } = await save(group, mode);
  const seconds = (performance.now() - beganMs) / 1000;
  const key = keys.checkpoint(0);
  const { entry } = parseEntry(key, await job.store.get(key));
  const isAsked = entry?.uuid === uuid && entry.kind === (mode === 'base' ? 'full' : 'delta');
  if (!isAsked) throw new Error(`expected a ${mode}, got ${entry?.kind} ${entry?.uuid}`);
  return { seconds, bytes, rowBytes: (entry.rows! / 2) * BYTES_PER_SAVED_ID };
}

const pushFor = (ms: number): Promise<Pushed> => pusher.pushFor(ms, IDS_PER_PUSH, Number(values.hot));

const base = await saved('base');
await pushFor(2_000);
await saved('delta');
const [without, during]: [Pushed[], Pushed[]] = [[], []];
const deltas: Saved[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  without.push(await pushFor(windowMs));
  const saving = saved('delta');
  during.push(await pushFor(windowMs));
  deltas.push(await saving);
}
const longest = (all: readonly Pushed[]): number => Math.max(...all.map(({ longestMs }) => longestMs));
const share = rate(during) / rate(without);
const perRow = deltas.map(({ bytes, rowBytes }) => bytes / rowBytes);
printFigures([
  { what: `pushes of ${IDS_PER_PUSH} ids, no save`, value: rate(without), unit: 'a second' },
  { what: `  a delta every ${values['every-s']} s`, value: rate(during), unit: 'a second' },
  { what: '  share of the throughput', value: share, unit: '', aim: { of: 'value', bound: 0.97, best: 'high' } },
  { what: 'longest push, no save', value: longest(without), unit: 'ms' },
  { what: '  a delta', value: longest(during), unit: 'ms', aim: { of: 'value', bound: 20, best: 'low' } },
  { what: 'a base takes', value: base.seconds, unit: 's' },
  { what: '  bytes', value: base.bytes / 1e6, unit: 'MB' },
  { what: 'a delta takes', value: median(deltas.map(({ seconds }) => seconds)), unit: 's' },
  { what: '  bytes', value: median(deltas.map(({ bytes }) => bytes)) / 1e6, unit: 'MB' },
  { what: '  beside the rows', value: Math.max(...perRow), unit: '', aim: { of: 'value', bound: 1.1, best: 'low' } },
]);
say(`load after: ${load()}`);
process.exit(0);
