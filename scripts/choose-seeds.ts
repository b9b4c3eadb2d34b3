/**
 * Chooses the schedules of each commit: `node scripts/choose-seeds.ts` writes test/sim/chosen-seeds.ts. Of the first
 * seeds of each kind it takes those that show most for their time, until everything that happens happens twice.
 * What fewer of them show is rare, and left to the schedules of the night: whatever changes the roles makes other
 * schedules of the seeds. To be run again when `test/sim` says that something is missing.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { runBatch } from '../test/sim/batch.ts';
import { KINDS, type Kind, missingInAll, optionsOf, shownBy } from '../test/sim/kinds.ts';
import type { Mode } from '../test/sim/mode.ts';

const MODES: readonly Mode[] = ['async', 'sync'];
const OUTPUT = 'test/sim/chosen-seeds.ts';
const TIMES = 2;
/** Seeds that are tried for each kind. */
const CANDIDATES = 40;
/** Minimum number of seeds of each kind, whatever they show. */
const FEWEST = 1;

interface Schedule {
  readonly kind: Kind;
  readonly seed: number;
  readonly seconds: number;
  readonly shows: readonly string[];
}

interface Work {
  readonly mode: Mode;
  readonly kind: Kind;
}

async function candidates({ mode, kind }: Work): Promise<Schedule[]> {
  const wanted = missingInAll(new Map(), mode);
  const schedules: Schedule[] = [];
  for (let seed = 0; seed < CANDIDATES; seed++) {
    const startedMs = performance.now();
    const { counts, failures } = await runBatch({ ...optionsOf(kind, mode), seeds: [seed] });
    if (failures.length > 0) throw new Error(`${mode}, ${kind}, seed ${seed}: ${failures[0]!.violations.join('; ')}`);
    const seconds = (performance.now() - startedMs) / 1000;
    const shown = shownBy(kind, mode, counts);
    schedules.push({ kind, seed, seconds, shows: wanted.filter((what) => shown.has(what)) });
  }
  return schedules;
}

interface Chosen {
  readonly seeds: Readonly<Record<Kind, readonly number[]>>;
  readonly rare: readonly string[];
}

/** Greedy: the next one is that which shows most of what is still wanted for its time. */
function choose(all: readonly Schedule[], mode: Mode): Chosen {
  const timesOf = (what: string): number => all.filter(({ shows }) => shows.includes(what)).length;
  const [rare, usual] = [new Set<string>(), new Set<string>()];
  for (const what of missingInAll(new Map(), mode)) {
    if (timesOf(what) === 0) throw new Error(`${mode}: no schedule shows '${what}': it may have become impossible`);
    (timesOf(what) < TIMES ? rare : usual).add(what);
  }
  const left = new Map([...usual].map((what) => [what, TIMES]));
  const chosen = new Set<Schedule>();
  const take = (one: Schedule): void => {
    chosen.add(one);
    for (const what of one.shows) if (usual.has(what)) left.set(what, left.get(what)! - 1);
  };
  for (const kind of KINDS) for (const one of all.filter((other) => other.kind === kind).slice(0, FEWEST)) take(one);
  const worth = ({ shows, seconds }: Schedule): number =>
    shows.filter((what) => (left.get(what) ?? 0) > 0).length / seconds;
  while ([...left.values()].some((times) => times > 0)) {
    take(all.filter((one) => !chosen.has(one)).reduce((best, one) => (worth(one) > worth(best) ? one : best)));
  }
  const seedsOf = (kind: Kind): number[] => [...chosen].filter((one) => one.kind === kind).map(({ seed }) => seed);
  const seeds = Object.fromEntries(KINDS.map((kind) => [kind, seedsOf(kind).sort((a, b) => a - b)]));
  return { seeds: seeds as Record<Kind, number[]>, rare: [...rare].sort() };
}

/** A worker for each kind: what schedules leave behind goes with it. */
function inWorker(work: Work): Promise<Schedule[]> {
  const worker = new Worker(new URL(import.meta.url), { workerData: work });
  return new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
}

async function chooseOf(mode: Mode): Promise<Chosen> {
  const all: Schedule[] = [];
  for (const kind of KINDS) all.push(...(await inWorker({ mode, kind })));
  const chosen = choose(all, mode);
  const taken = all.filter(({ kind, seed }) => chosen.seeds[kind].includes(seed));
  const seconds = taken.reduce((sum, one) => sum + one.seconds, 0);
  process.stdout.write(`${mode}: ${taken.length} schedules, ${seconds.toFixed(0)} s\n`);
  return chosen;
}

if (isMainThread) {
  const chosen = await Promise.all(MODES.map(chooseOf));
  const textOf = (of: (one: Chosen) => unknown): string =>
    JSON.stringify(Object.fromEntries(MODES.map((mode, at) => [mode, of(chosen[at]!)])));
  const head = `/** Schedules in which everything happens, chosen by \`node scripts/choose-seeds.ts\`. */
import type { Kind } from './kinds.ts';
import type { Mode } from './mode.ts';
`;
  const seeds = `Readonly<Record<Mode, Readonly<Record<Kind, readonly number[]>>>> = ${textOf((one) => one.seeds)}`;
  const rare = `Readonly<Record<Mode, readonly string[]>> = ${textOf((one) => one.rare)}`;
  const what = '/** What happens in few schedules, perhaps in none of the chosen ones. */';
  const body = `export const CHOSEN_SEEDS: ${seeds};\n\n${what}\nexport const RARE: ${rare};\n`;
  writeFileSync(OUTPUT, `${head}\n${body}`);
  execFileSync('npx', ['biome', 'check', '--write', OUTPUT], { stdio: 'inherit' });
} else {
  parentPort!.postMessage(await candidates(workerData as Work));
}
