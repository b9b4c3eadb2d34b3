/**
 * `npm run bench`: every figure beside its aim and its limit, measured in the same run. README.md says how to read it.
 * `npm run bench -- table wire`: of these parts. `npm run bench -- training …`: of whole clusters (training.ts), which
 * takes too long to be among the others.
 *
 * Each part has a process of its own, with the options of the executable: what one leaves in memory is no matter of the
 * next.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENGINE_OPTIONS } from '../build-steps/engine-options.ts';
import { measureData } from './data.ts';
import { type Figure, isReached, printFigures } from './figure.ts';
import { measureFormats } from './formats.ts';
import { measureModels } from './models.ts';
import { measureOptimizers } from './optimizers.ts';
import { measureParquet } from './parquet.ts';
import { measureDense, measureSparse } from './pushing.ts';
import { measureTable } from './table.ts';
import { measureWire } from './wire.ts';

const PARTS: Readonly<Record<string, () => Promise<Figure[]>>> = {
  // Parquet first, with a young heap, as in a process that reads nothing else.
  data: async () => [...(await measureParquet()), ...(await measureData()), ...(await measureFormats())],
  table: measureTable,
  optimizers: measureOptimizers,
  models: measureModels,
  sparse: measureSparse,
  dense: measureDense,
  wire: measureWire,
};

const TRAINING = 'training';
/** What a part's own process is started with. */
const MEASURE = '--measure';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const loads = (): string =>
  loadavg()
    .map((load) => load.toFixed(2))
    .join(' ');

async function measureApart(part: string): Promise<Figure[]> {
  const child = fork(fileURLToPath(import.meta.url), [MEASURE, part], {
    execArgv: [...process.execArgv, ...ENGINE_OPTIONS],
  });
  const measured = once(child, 'message');
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the benchmark '${part}' ended with ${code}`);
  });
  ended.catch(() => {});
  const [figures] = (await Promise.race([measured, ended])) as [Figure[]];
  child.disconnect();
  return figures;
}

async function measureParts(parts: readonly string[]): Promise<void> {
  const unknown = parts.find((part) => PARTS[part] === undefined);
  if (unknown !== undefined) {
    throw new Error(`there is no part '${unknown}': expected some of ${Object.keys(PARTS).join(', ')}, or ${TRAINING}`);
  }
  say(`load before: ${loads()}`);
  const figures: Figure[] = [];
  for (const part of parts) {
    const some = await measureApart(part);
    printFigures(some);
    figures.push(...some);
  }
  const missed = figures.filter((figure) => isReached(figure) === false);
  say(`load after: ${loads()}`);
  say(missed.length === 0 ? 'every aim is reached' : `missed: ${missed.map(({ what }) => what).join('; ')}`);
}

async function measureTraining(args: readonly string[]): Promise<void> {
  const child = fork(join(import.meta.dirname, 'training.ts'), args);
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}

const [first, ...others] = process.argv.slice(2);
if (first === MEASURE) process.send!(await PARTS[others[0]!]!());
else if (first === TRAINING) await measureTraining(others);
else await measureParts(first === undefined ? Object.keys(PARTS) : [first, ...others]);
