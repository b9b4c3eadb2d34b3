/**
 * `npx node scripts/bench/saving.ts [--gb 1] [--every-s 60] [--rounds 2]`: what saving costs in throughput. One real
 * pserver with a table of so many GB; a client pushes without a pause. Windows of so many seconds without a save and
 * with one, which begins with the window, take turns, so that a machine that others use weighs on both alike. Nothing
 * but pushes is done: a trainer, which computes between them, loses less.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { percentile, printFigures } from './figure.ts';
import { load, type Pushed, processorTime, rate, save, say, startOne } from './one-pserver.ts';

const { values } = parseArgs({
  options: {
    gb: { type: 'string', default: '1' },
    'every-s': { type: 'string', default: '60' },
    rounds: { type: 'string', default: '2' },
    paddlet: { type: 'string', default: join(resolve(import.meta.dirname, '../..'), 'dist/paddlet') },
  },
});
const IDS_PER_PUSH = 2_000;
const windowMs = Number(values['every-s']) * 1000;

say(`load before: ${load()}`);
const { pusher, group, pserver } = await startOne(values.paddlet);
await pusher.growTo(Number(values.gb) * 1e9);

interface Window extends Pushed {
  /** Processor time of all threads of the pserver. */
  readonly processorSeconds: number;
}

async function pushFor(ms: number): Promise<Window> {
  const processorBefore = processorTime(pserver.pid!);
  const pushed = await pusher.pushFor(ms, IDS_PER_PUSH);
  return { ...pushed, processorSeconds: processorTime(pserver.pid!) - processorBefore };
}

await pushFor(2_000);
const [without, during]: [Window[], Window[]] = [[], []];
const saveSeconds: number[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  without.push(await pushFor(windowMs));
  const beganMs = performance.now();
  const saving = save(group).then(() => saveSeconds.push((performance.now() - beganMs) / 1000));
  during.push(await pushFor(windowMs));
  await saving;
}
const sum = (all: readonly Window[], what: keyof Window): number => all.reduce((total, one) => total + one[what], 0);
const falls = 100 * (1 - rate(during) / rate(without));
// What is left of the processor's time when the pushes are taken off.
const perPush = sum(without, 'processorSeconds') / sum(without, 'pushes');
const perSave = (sum(during, 'processorSeconds') - sum(during, 'pushes') * perPush) / saveSeconds.length;
printFigures([
  { what: `pushes of ${IDS_PER_PUSH} ids, no save`, value: rate(without), unit: 'a second' },
  { what: `  a save every ${values['every-s']} s`, value: rate(during), unit: 'a second' },
  { what: '  a save takes', value: percentile(saveSeconds, 0.5), unit: 's' },
  { what: '  processor time of a save', value: perSave, unit: 's' },
  { what: 'throughput falls by', value: falls, unit: '%', aim: { of: 'value', bound: 15, best: 'low' } },
]);
say(`load after: ${load()}`);
process.exit(0);
