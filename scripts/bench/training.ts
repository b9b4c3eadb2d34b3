/**
 * `npx node scripts/bench/training.ts [--rows 1,2] [--rounds 3] [--records 200000] [--passes N] [--quick]
 * [--paddlet dist/paddlet] [--data ../shared/data]`, or `npm run bench -- training`: how fast whole clusters of the
 * executable train, beside one thread of C, scikit-learn, the model alone, and push and pull alone; and where the time
 * goes. README.md says how it is measured.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Figure, isReached, median, printFigures } from './figure.ts';
import { type DataName, type DataSet, prepareData } from './training/data.ts';
import { type Bench, measureRound, type Round, timeRun } from './training/measure.ts';
import { Paddlet } from './training/paddlet.ts';
import { alonePeer, nativePeer, sklearnPeer } from './training/peers.ts';
import { figuresOf, type Measured, memoryFigures, whereTimeGoes } from './training/report.ts';
import { LOSS_TIME, NUMBERS, type Row, RUN_TIME, type Scene, TABLE } from './training/rows.ts';
import { timesToLoss } from './training/time-to-loss.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const RUN_SECONDS = 1.5;
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: NUMBERS.join(',') },
    rounds: { type: 'string' },
    records: { type: 'string' },
    passes: { type: 'string' },
    quick: { type: 'boolean', default: false },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
    data: { type: 'string', default: resolve(ROOT, '../shared/data') },
  },
});
const { quick } = values;
const rounds = Number(values.rounds ?? (quick ? 1 : 3));
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const load = (): string => `${loadavg()[0]!.toFixed(2)} on ${availableParallelism()} cores`;

function chosen(): readonly string[] {
  const numbers = values.rows.split(',');
  const unknown = numbers.find((number) => !NUMBERS.includes(number));
  if (unknown !== undefined) throw new Error(`--rows ${unknown}: expected some of ${NUMBERS.join(',')}`);
  return numbers;
}

async function openBench(folder: string): Promise<Bench> {
  const native = nativePeer(folder);
  const sklearn = await sklearnPeer();
  if (native === undefined) say('without one thread of C: there is no C compiler');
  if (sklearn === undefined) say('without scikit-learn: it is missing (Debian: apt-get install python3-sklearn)');
  return {
    paddlet: new Paddlet(values.paddlet, folder),
    folder,
    native,
    sklearn,
    alone: alonePeer(folder),
    passesOf: (scene) => Number(values.passes ?? (quick ? scene.quickPasses : scene.passes)),
    requestsMs: quick ? 3_000 : 8_000,
  };
}

const records = Number(values.records ?? (quick ? 60_000 : 200_000));

async function prepare(bench: Bench, scenes: readonly Scene[]): Promise<Map<DataName, DataSet>> {
  const options = { paddlet: bench.paddlet, real: values.data, folder: bench.folder, records };
  const prepared = new Map<DataName, DataSet>();
  for (const name of new Set(scenes.map(({ data }) => data))) {
    const data = await prepareData(name, options);
    if (data.insteadOf !== undefined) say(`made data instead of ${data.insteadOf}, which ${values.data} does not have`);
    prepared.set(name, data);
  }
  say(`synthetic data instead of click logs: ${records} records with 39 of 1 M features, 100000 with 10 of 5,000`);
  return prepared;
}

/** All jobs once, then all again: what else the machine does meets all of them. */
async function measure(bench: Bench, rows: readonly Row[]): Promise<Measured[]> {
  const scenes = [...new Set(rows.map(({ scene }) => scene))];
  const data = await prepare(bench, scenes);
  const measured = new Map<Scene, Round[]>(scenes.map((scene) => [scene, []]));
  for (let round = 0; round < rounds; round++) {
    for (const scene of scenes) {
      const ofScene = rows.filter((row) => row.scene === scene);
      measured.get(scene)!.push(await measureRound(bench, scene, ofScene, data.get(scene.data)!));
      say(`round ${round + 1} of ${rounds}: ${scene.name}, load ${load()}`);
    }
  }
  return rows.map((row) => ({ row, rounds: measured.get(row.scene)! }));
}

async function runTime(bench: Bench): Promise<Figure[]> {
  if (!existsSync(join(values.data, 'a9a/a9a.gz'))) {
    say(`without the time of a whole command: ${values.data} does not have a9a`);
    return [];
  }
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round++) {
    seconds.push(await timeRun(bench, join(ROOT, 'examples/a9a-lr.yaml'), values.data));
  }
  const what = 'run of examples/a9a-lr.yaml, 10 passes, to its result';
  const aim = { of: 'value', bound: RUN_SECONDS, best: 'low' } as const;
  return [{ what, value: median(seconds), bestValue: Math.min(...seconds), unit: 's', aim }];
}

const numbers = chosen();
const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
say(`load before: ${load()}`);
const bench = await openBench(folder);
const rows = TABLE.filter(({ number }) => numbers.includes(number));
const measured = await measure(bench, rows);
const figures = [...measured.flatMap(figuresOf), ...memoryFigures(measured)];
if (numbers.includes(RUN_TIME)) figures.push(...(await runTime(bench)));
if (numbers.includes(LOSS_TIME)) {
  figures.push(...(await timesToLoss(bench, { rounds, real: values.data, records, say })));
}
printFigures(figures);
for (const one of measured) {
  for (const [name, text] of Object.entries(whereTimeGoes(one))) say(name === 'row' ? text : `   ${name}: ${text}`);
}
say(`median of ${rounds} rounds; load after: ${load()}`);
const missed = figures.filter((figure) => isReached(figure) === false);
say(missed.length === 0 ? 'every aim is reached' : `missed: ${missed.map(({ what }) => what).join('; ')}`);
