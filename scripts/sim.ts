/**
 * The deterministic simulation, for as long as one likes: `node scripts/sim.ts --seeds 0..100000` runs these schedules
 * on all cores and ends with 1 when one of them violates an invariant; `--story SEED` tells one schedule line by line;
 * `--mode sync` runs jobs in sync mode; `--disks` lets disks fail, too; `--faults KIND,KIND` injects only these;
 * `--until-violation` ends at the first one; `--continued` gives each job fewer passes at first, and the rest when it
 * has ended; `--replicas` gives each unit copies; `--evaluated` evaluates the job while it trains, and may end it
 * early; `--deltas` saves often, mostly changes only. `--minutes N --go-on FILE` in place of `--seeds` goes on for so
 * long from the seed that FILE names, and leaves the next one there.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { addCounts, type BatchReport, missingIn, runBatch } from '../test/sim/batch.ts';
import { copiedMix, type FaultMix, onlyFaults, usualDiskMix, usualMix } from '../test/sim/fault-kinds.ts';
import type { Mode } from '../test/sim/mode.ts';
import { runSchedule } from '../test/sim/schedule.ts';
import { parseGoOn, readNext, writeNext } from './go-on.ts';

// Workers are as many as cores: threads of their own for garbage collection would only wait for each other.
setFlagsFromString('--single-threaded-gc');
/** What one schedule leaves behind is collected before it is taken for something that stays. */
const YOUNG_MB = 64;

/**
 * Seeds handed to a worker at a time. Node keeps a signal that is made of others, and what listens to it, until it is
 * aborted: those of processes that are killed never are. With copies a schedule leaves some 10 MB behind.
 */
const SHARE = 200;
const COPIED_SHARE = 100;
const SMALL_SHARE = 25;
/** A schedule that has not ended after so many looks is given up: promises can follow each other for ever. */
const LOOK_MS = 10_000;
const MOST_LOOKS = 60;

interface Kind {
  readonly mode: Mode;
  readonly mix: FaultMix;
  readonly isContinued: boolean;
  readonly isCopied: boolean;
  readonly isEvaluated: boolean;
  readonly hasDeltas: boolean;
}

interface Work extends Share, Kind {}

interface Share {
  readonly from: number;
  readonly to: number;
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function tell(seed: number, kind: Kind): Promise<number> {
  const { violations, counts } = await runSchedule({ seed, ...kind, story: print });
  print('');
  for (const [what, count] of [...counts].sort()) print(`${String(count).padStart(7)}  ${what}`);
  for (const violation of violations) print(`VIOLATION: ${violation}`);
  return violations.length === 0 ? 0 : 1;
}

interface RunOptions {
  readonly jobs: number;
  readonly isUntilViolation: boolean;
  /** No schedules are begun later than this after the start. */
  readonly minutes: number;
}

interface RunEnd {
  readonly exitCode: number;
  /** The first seed that was not run. */
  readonly next: number;
}

async function runAll(seeds: Share, kind: Kind, { jobs, isUntilViolation, minutes }: RunOptions): Promise<RunEnd> {
  const startedMs = performance.now();
  const counts = new Map<string, number>();
  const failures: BatchReport['failures'][number][] = [];
  let schedules = 0;
  let next = seeds.from;
  const isShort = isUntilViolation || minutes < Number.POSITIVE_INFINITY;
  const share = isShort ? SMALL_SHARE : kind.isCopied ? COPIED_SHARE : SHARE;
  const take = (): Share | undefined => {
    if (next >= seeds.to || (isUntilViolation && failures.length > 0)) return undefined;
    if (performance.now() - startedMs > minutes * 60_000) return undefined;
    const from = next;
    next = Math.min(next + share, seeds.to);
    return { from, to: next };
  };
  const work = async (): Promise<void> => {
    // A worker for each share: whatever a schedule leaves behind goes with it.
    for (let share = take(); share !== undefined; share = take()) {
      for (let { from } = share; from < share.to; ) {
        from = await inWorker({ ...share, from }, kind, (report) => {
          schedules += report.schedules;
          addCounts(counts, report.counts);
          for (const failure of report.failures) {
            failures.push(failure);
            print(`seed ${failure.seed}: ${failure.violations.join('\n  ')}`);
          }
        });
      }
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  const seconds = (performance.now() - startedMs) / 1000;
  print('');
  for (const [what, count] of [...counts].sort()) print(`${String(count).padStart(9)}  ${what}`);
  const missing = missingIn(counts, kind.mode, kind.mix);
  if (missing.length > 0) print(`never happened: ${missing.join(', ')}`);
  const perMinute = Math.round((schedules / seconds) * 60);
  const rate = `${perMinute} a minute on ${jobs} cores`;
  print(`seeds ${seeds.from}..${next}: ${schedules} schedules in ${seconds.toFixed(1)} s (${rate})`);
  const failed = failures.map(({ seed }) => seed).join(', ');
  print(failures.length === 0 ? 'no violation' : `${failures.length} failed; tell one with --story SEED: ${failed}`);
  return { exitCode: failures.length === 0 ? 0 : 1, next };
}

/**
 * Gives the seed to go on with: that after the last one, or after one that does not end, or that ends the worker. Such
 * a schedule is a violation, too.
 */
function inWorker(share: Share, kind: Kind, onReport: (report: BatchReport) => void): Promise<number> {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { ...share, ...kind } satisfies Work,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
  return new Promise((resolve, reject) => {
    let seed = share.from;
    let looks = 0;
    const end = (): void => {
      clearInterval(looking);
      worker.terminate().then(() => resolve(seed), reject);
    };
    const failed = (why: string): void => {
      onReport({ schedules: 1, counts: new Map(), failures: [{ seed, violations: [why] }] });
      seed += 1;
      end();
    };
    // Looks are counted, not time: the machine may be stopped.
    const looking = setInterval(() => {
      looks += 1;
      if (looks === MOST_LOOKS) failed('the schedule does not end');
    }, LOOK_MS);
    worker.on('message', (report: BatchReport) => {
      onReport(report);
      looks = 0;
      seed += 1;
      if (seed === share.to) end();
    });
    worker.once('error', (error) => failed(`the schedule ended its worker: ${String(error)}`));
  });
}

function parseMode(text: string): Mode {
  if (text !== 'async' && text !== 'sync') throw new Error(`--mode ${text}: expected async or sync`);
  return text;
}

function parseSeeds(text: string): Share {
  const found = /^(\d+)\.\.(\d+)$/.exec(text);
  if (found === null) throw new Error(`--seeds ${text}: expected FROM..TO, the last one not included`);
  return { from: Number(found[1]), to: Number(found[2]) };
}

if (isMainThread) {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '0..2000' },
      story: { type: 'string' },
      mode: { type: 'string', default: 'async' },
      disks: { type: 'boolean', default: false },
      continued: { type: 'boolean', default: false },
      replicas: { type: 'boolean', default: false },
      evaluated: { type: 'boolean', default: false },
      deltas: { type: 'boolean', default: false },
      faults: { type: 'string' },
      'until-violation': { type: 'boolean', default: false },
      jobs: { type: 'string', default: String(availableParallelism()) },
      minutes: { type: 'string' },
      'go-on': { type: 'string' },
    },
  });
  const mode = parseMode(values.mode);
  const isCopied = values.replicas;
  const usual = isCopied ? copiedMix(values.disks) : values.disks ? usualDiskMix(mode) : usualMix(mode);
  const mix = values.faults === undefined ? usual : onlyFaults(usual, values.faults.split(','));
  const { continued: isContinued, evaluated: isEvaluated, deltas: hasDeltas } = values;
  const kind = { mode, mix, isContinued, isCopied, isEvaluated, hasDeltas };
  const goOn = parseGoOn(values.minutes, values['go-on']);
  const minutes = goOn?.minutes ?? Number.POSITIVE_INFINITY;
  const options = { jobs: Number(values.jobs), isUntilViolation: values['until-violation'], minutes };
  if (values.story !== undefined) process.exitCode = await tell(Number(values.story), kind);
  else {
    const seeds =
      goOn === undefined ? parseSeeds(values.seeds) : { from: readNext(goOn.file), to: Number.MAX_SAFE_INTEGER };
    const { exitCode, next } = await runAll(seeds, kind, options);
    if (goOn !== undefined) writeNext(goOn.file, next);
    process.exitCode = exitCode;
  }
} else {
  const work = workerData as Work;
  for (let seed = work.from; seed < work.to; seed++)
    parentPort!.postMessage(await runBatch({ ...work, seeds: [seed] }));
}
