/**
 * `npm run bench`: every figure beside its aim and its limit, measured in the same run. README.md says how to read it.
 * Each part has a process of its own, with the options of the executable: what one leaves in memory is no matter of the
 * next.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { ENGINE_OPTIONS } from '../build-steps/engine-options.ts';
import { type Figure, isReached, printFigures } from './figure.ts';
import { measureOptimizers } from './optimizers.ts';
import { measureDense, measureSparse } from './pushing.ts';
import { measureTable } from './table.ts';
import { measureWire } from './wire.ts';

const PARTS: Readonly<Record<string, () => Promise<Figure[]>>> = {
  table: measureTable,
  optimizers: measureOptimizers,
  sparse: measureSparse,
  dense: measureDense,
  wire: measureWire,
};

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const loads = (): string =>
  loadavg()
    .map((load) => load.toFixed(2))
    .join(' ');

async function measureApart(part: string): Promise<Figure[]> {
  const child = fork(fileURLToPath(import.meta.url), [part], { execArgv: [...process.execArgv, ...ENGINE_OPTIONS] });
  const measured = once(child, 'message');
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the benchmark '${part}' ended with ${code}`);
  });
  ended.catch(() => {});
  const [figures] = (await Promise.race([measured, ended])) as [Figure[]];
  child.disconnect();
  return figures;
}

async function measureAll(): Promise<void> {
  say(`load before: ${loads()}`);
  const figures: Figure[] = [];
  for (const part of Object.keys(PARTS)) {
    const some = await measureApart(part);
    printFigures(some);
    figures.push(...some);
  }
  const missed = figures.filter((figure) => isReached(figure) === false);
  say(`load after: ${loads()}`);
  say(missed.length === 0 ? 'every aim is reached' : `missed: ${missed.map(({ what }) => what).join('; ')}`);
}

const measure = PARTS[process.argv[2] ?? ''];
if (measure === undefined) await measureAll();
else process.send!(await measure());
