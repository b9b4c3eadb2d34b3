/** `npm run bench`: every figure beside its aim and its limit, measured in the same run. README.md says how to read it. */
import { loadavg } from 'node:os';
import { type Figure, isReached, printFigures } from './figure.ts';
import { measureOptimizers } from './optimizers.ts';
import { measureDense, measureSparse } from './pushing.ts';
import { measureTable } from './table.ts';
import { measureWire } from './wire.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

say(
  `load before: ${loadavg()
    .map((load) => load.toFixed(2))
    .join(' ')}`,
);
const figures: Figure[] = [];
for (const measure of [measureTable, measureOptimizers, measureSparse, measureDense, measureWire]) {
  const some = await measure();
  printFigures(some);
  figures.push(...some);
}
const missed = figures.filter((figure) => isReached(figure) === false);
say(
  `load after: ${loadavg()
    .map((load) => load.toFixed(2))
    .join(' ')}`,
);
say(missed.length === 0 ? 'every aim is reached' : `missed: ${missed.map(({ what }) => what).join('; ')}`);
