/**
 * `npx node scripts/bench/scale.ts [--sizes 2x2,16x64] [--rows 4,6] [--batch 1024] [--push-every 1] [--simulate]
 * [--gbit 10] [--latency-us 100]`: where the walls of larger clusters are (pservers x trainers), by the analytic model;
 * with `--simulate` also by a simulation of the real roles.
 *
 * `--cost`: with how many cores the cluster passes other programs on one machine.
 *
 * `--measure [--only TEXT;TEXT] [--paddlet dist/paddlet] [--records 100000] [--rounds 1] [--look-ms 500]
 * [--passes-lr N] [--passes-fm N]`: measures the constants again, and writes them to
 * scripts/bench/scale/measured.json. README.md says more.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { GIGABIT_PER_S, LATENCY_MICROS } from './scale/constants.ts';
import { demandsIn } from './scale/demand.ts';
import type { LinkSpeed } from './scale/links.ts';
import { measurePoints } from './scale/measure-points.ts';
import { isOfRows, nameOf, type Point, readMeasured, writeMeasured } from './scale/points.ts';
import { costTables, measuredTable, SIMULATED_HEAD, simulatedRow, table, wallTable } from './scale/report.ts';
import { simulate } from './scale/simulate.ts';
import type { ClusterSize } from './scale/walls.ts';
import { Paddlet } from './training/paddlet.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SIZES = '1x1,2x2,2x4,4x8,4x16,8x32,16x64,16x128,64x64,64x256,64x512';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: SIZES },
    rows: { type: 'string', default: '4,6' },
    batch: { type: 'string', default: '1024' },
    'push-every': { type: 'string', default: '1' },
    gbit: { type: 'string', default: `${GIGABIT_PER_S}` },
    'latency-us': { type: 'string', default: `${LATENCY_MICROS}` },
    simulate: { type: 'boolean', default: false },
    cost: { type: 'boolean', default: false },
    measure: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
    records: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '1' },
    'look-ms': { type: 'string', default: '500' },
    'passes-lr': { type: 'string', default: '12' },
    'passes-fm': { type: 'string', default: '6' },
  },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const listOf = (text: string): string[] => text.split(',').filter((part) => part !== '');

const speed: LinkSpeed = {
  bytesPerMs: (Number(values.gbit) * 1e9) / 8 / 1000,
  latencyMs: Number(values['latency-us']) / 1000,
};

function sizesIn(text: string): ClusterSize[] {
  return listOf(text).map((size) => {
    const found = /^(\d+)x(\d+)$/.exec(size);
    if (found === null) throw new Error(`--sizes ${size}: expected PSERVERSxTRAINERS, such as 16x64`);
    return { pservers: Number(found[1]), trainers: Number(found[2]) };
  });
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-scale-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const paddlet = new Paddlet(values.paddlet, folder);
  const passes = { '4': Number(values['passes-lr']), '6': Number(values['passes-fm']) };
  // Names have commas in them.
  const only = values.only.split(';').filter((text) => text !== '');
  const numbers = { records: Number(values.records), rounds: Number(values.rounds), lookMs: Number(values['look-ms']) };
  const options = { paddlet, folder, passes, ...numbers, say };
  // If only some of the jobs are measured, the others keep their former points.
  const isSame = (a: Point, b: Point): boolean =>
    nameOf(a) === nameOf(b) && a.pservers === b.pservers && a.trainers === b.trainers;
  let points: readonly Point[] = only.length === 0 ? [] : readMeasured().points;
  const when = new Date().toISOString().slice(0, 10);
  await measurePoints(options, only, (point) => {
    const at = points.findIndex((old) => isSame(old, point));
    points = at < 0 ? [...points, point] : points.with(at, point);
    writeMeasured({ when, points });
  });
}

async function showWalls(): Promise<void> {
  const sizes = sizesIn(values.sizes);
  const chosen = demandsIn(readMeasured()).filter(
    ({ point: { row, batchSize, pushEvery } }) =>
      listOf(values.rows).includes(row) &&
      listOf(values.batch).includes(`${batchSize}`) &&
      listOf(values['push-every']).includes(`${pushEvery}`),
  );
  if (chosen.length === 0) throw new Error('no such job was measured: see --rows, --batch and --push-every');
  say(`links of ${values.gbit} Gbit/s each way, ${values['latency-us']} µs between two hosts\n`);
  for (const { point, demand } of chosen) {
    say(`${nameOf(point)}\n`);
    say(wallTable(demand, sizes, speed));
    if (!values.simulate) continue;
    say(table(SIMULATED_HEAD, []).trimEnd());
    for (const size of sizes) say(simulatedRow(demand, size, speed, await simulate(demand, size, speed)));
    say('');
  }
}

if (values.measure) await measure();
else if (values.cost) {
  const measured = readMeasured();
  say(measuredTable(measured.points.filter(isOfRows)));
  say(costTables(demandsIn(measured), speed));
} else await showWalls();
