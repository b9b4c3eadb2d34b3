/**
 * `npx node scripts/bench/endless.ts [--records 100000] [--days 20] [--only 'NAME;NAME'] [--paddlet dist/paddlet]`:
 * what admission, eviction and bounds of tables cost and keep, on click logs of drifting days. Each policy trains on
 * all days in their order, once, and is tested on the day after. docs/endless.md has its table.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeDays } from './endless/drifting-days.ts';
import { Paddlet } from './training/paddlet.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '100000' },
    days: { type: 'string', default: '20' },
    only: { type: 'string' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
  },
});
const days = Number(values.days);
const recordsPerDay = Number(values.records);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const COUNT = (min: number): string => `admission: { type: count, min: ${min} }`;
const DRAW = (p: number): string => `admission: { type: probability, p: ${p} }`;
/** Records of a mini-batch. Each mini-batch is an update of every shard. */
const BATCH = 256;
const updatesOfDays = (number: number): string =>
  `eviction: { unseenUpdates: ${Math.round((number * recordsPerDay) / BATCH)} }`;
/** As shares of the bytes without any rule, which the first run finds out. */
const BOUND = (share: number) => (bytes: number) => `maxBytes: ${Math.round(bytes * share)}`;

type Rule = string | ((bytes: number) => string);
const POLICIES: Readonly<Record<string, readonly Rule[]>> = {
  none: [],
  'count 2': [COUNT(2)],
  'count 3': [COUNT(3)],
  'probability 0.2': [DRAW(0.2)],
  'unseen for 3 days': [updatesOfDays(3)],
  'bound of 1/2': [BOUND(1 / 2)],
  'bound of 1/4': [BOUND(1 / 4)],
  'bound of 1/8': [BOUND(1 / 8)],
  'count 2, bound of 1/4': [COUNT(2), BOUND(1 / 4)],
  'count 2, bound of 1/8': [COUNT(2), BOUND(1 / 8)],
  'probability 0.2, bound of 1/8': [DRAW(0.2), BOUND(1 / 8)],
  'count 2, unseen for 3 days, bound of 1/8': [COUNT(2), updatesOfDays(3), BOUND(1 / 8)],
};

interface Result {
  readonly recordsPerSecond: number;
  readonly metrics: {
    readonly train: { readonly logloss: number };
    readonly test: { readonly auc: number; readonly logloss: number };
  };
}
interface Inspection {
  readonly tables: readonly {
    readonly name: string;
    readonly rows: number;
    readonly bytes: number;
    readonly candidates?: { readonly bytes: number };
  }[];
}

const folder = mkdtempSync(join(tmpdir(), 'paddlet-endless-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, 'days'));
const files = await writeDays(join(folder, 'days'), {
  ...{ days: days + 1, recordsPerDay, perRecord: 20, ranks: 10_000_000, exponent: 1.05, drift: 0.1, seed: 1 },
});
const jobOf = (rules: string): string =>
  [
    'name: endless',
    `data: { train: [${files
      .slice(0, days)
      .map((name) => `days/${name}`)
      .join(', ')}], test: days/${files[days]}, format: libsvm, recordsPerTask: 8192 }`,
    'model: { type: lr }',
    'optimizer: { type: adagrad, learningRate: 0.1 }',
    ...(rules === '' ? [] : [`tables: { w: { ${rules} } }`]),
    `training: { mode: async, passes: 1, batchSize: ${BATCH} }`,
    'cluster: { pservers: 1, trainers: 1, shards: 16 }',
    'checkpoint: { interval: 10m }',
  ].join('\n');

const paddlet = new Paddlet(values.paddlet, folder);
let allBytes = 0;
const chosen = values.only?.split(';');
for (const [name, rules] of Object.entries(POLICIES)) {
  if (name !== 'none' && chosen !== undefined && !chosen.includes(name)) continue;
  const text = rules.map((rule) => (typeof rule === 'string' ? rule : rule(allBytes))).join(', ');
  writeFileSync(join(folder, 'job.yaml'), jobOf(text));
  const { recordsPerSecond, metrics } = JSON.parse(
    await paddlet.call('run', 'job.yaml', '--fresh', '--dir', 'job', '--json'),
  ) as Result;
  const { tables } = JSON.parse(await paddlet.call('checkpoint', 'inspect', '--dir', 'job', '--json')) as Inspection;
  const { rows, bytes: ofRows, candidates } = tables.find((table) => table.name === 'w')!;
  const bytes = ofRows + (candidates?.bytes ?? 0);
  if (name === 'none') allBytes = bytes;
  say(
    [
      name.padEnd(42),
      `AUC ${metrics.test.auc.toFixed(4)}`,
      `logloss ${metrics.test.logloss.toFixed(4)}`,
      `${rows} rows`,
      `${(bytes / 1e6).toFixed(1)} MB`,
      `${Math.round(recordsPerSecond / 1000)} k records/s`,
    ].join('  '),
  );
}
