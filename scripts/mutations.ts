/**
 * Takes out one rule of the protocol at a time, in a copy of the source, and demands that simulated schedules or unit
 * tests notice: `node scripts/mutations.ts` prints a table and ends with 1 when a rule can be taken out unnoticed.
 * `--only TEXT` takes the rules whose text, mode or file contains it; `--schedules N` tries N schedules for a rule that
 * does not say how many; `--jobs N` works on N rules at a time; `--tests` runs the unit tests even of rules that a
 * schedule noticed. `--minutes N --go-on FILE` goes on for so long from the rule that FILE names, and leaves the next
 * one there. The rules are in test/mutations.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { MUTATIONS } from '../test/mutations/all.ts';
import { mutate } from '../test/mutations/apply.ts';
import type { Mutation } from '../test/mutations/mutation.ts';
import { parseGoOn, readNext, writeNext } from './go-on.ts';

/** Without its rule, a test or a schedule may never end: that is noticed, too. */
const LIMIT_MS = 15 * 60_000;
const COPIED = ['src', 'test', 'scripts', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly isEndless: boolean;
}

interface Verdict {
  readonly mutation: Mutation;
  /** By what; undefined: not at all. */
  readonly schedule: string | undefined;
  readonly tests: readonly string[];
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

function run(folder: string, args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    // A group of its own, which ends with all that the tests have started.
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let isEndless = false;
    const limit = setTimeout(() => {
      isEndless = true;
      process.kill(-child.pid!, 'SIGKILL');
    }, LIMIT_MS);
    let output = '';
    const add = (bytes: Buffer): void => {
      output += bytes.toString();
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(limit);
      resolve({ code, output, isEndless });
    });
  });
}

function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'paddlet-mutation-'));
  for (const name of COPIED) cpSync(name, join(copy, name), { recursive: true });
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

const simulation = ({ schedules }: Mutation, from: number, to: number): string[] => [
  'scripts/sim.ts',
  ...['--seeds', `${from}..${to}`, '--mode', schedules!.mode, '--jobs', '1', '--until-violation'],
  ...(schedules?.disks === true ? ['--disks'] : []),
  ...(schedules?.isCopied === true ? ['--replicas'] : []),
  ...(schedules?.isEvaluated === true ? ['--evaluated'] : []),
  ...(schedules?.hasDeltas === true ? ['--deltas'] : []),
  ...(schedules?.faults === undefined ? [] : ['--faults', schedules.faults.join(',')]),
];

/** The first schedule that notices. It must be sound with the rule in place. */
async function noticedBySchedule(copy: string, mutation: Mutation, schedules: number): Promise<Verdict['schedule']> {
  if (mutation.schedules === undefined) return undefined;
  const { code, output, isEndless } = await run(copy, simulation(mutation, 0, mutation.schedules.count ?? schedules));
  if (isEndless) return 'a schedule never ended';
  const found = /^seed (\d+): (.*)$/m.exec(output);
  if (found === null) {
    if (code === 0) return undefined;
    throw new Error(`"${mutation.rule}": the simulation ended with ${code}\n${output}`);
  }
  const seed = Number(found[1]);
  const sound = await run('.', simulation(mutation, seed, seed + 1));
  if (sound.code !== 0) throw new Error(`seed ${seed} is not sound with all rules in place:\n${sound.output}`);
  return `schedule ${seed}: ${found[2]!.slice(0, 140)}`;
}

async function noticedByTests(copy: string, { tests = [] }: Mutation): Promise<string[]> {
  const noticed: string[] = [];
  for (const path of tests) {
    const project = path.includes('.nightly.') ? 'nightly' : 'unit*';
    const chosen = ['--bail', '1', '--project', project, path];
    const { code, isEndless } = await run(copy, ['node_modules/vitest/vitest.mjs', 'run', ...chosen]);
    if (code !== 0) noticed.push(isEndless ? `${path}, which never ended` : path);
  }
  return noticed;
}

/** Tests run the kernels as they were built. */
async function buildKernels(copy: string): Promise<void> {
  const { code, output } = await run(copy, ['scripts/build-kernels.ts']);
  if (code !== 0) throw new Error(`the kernels of a mutation cannot be built:\n${output}`);
}

interface Effort {
  readonly schedules: number;
  readonly isTestedAnyway: boolean;
}

async function judge(mutation: Mutation, { schedules, isTestedAnyway }: Effort): Promise<Verdict> {
  const copy = copyTree();
  try {
    mutate(copy, mutation);
    if (mutation.file.includes('/assembly/')) await buildKernels(copy);
    const schedule = await noticedBySchedule(copy, mutation, schedules);
    const tests = schedule === undefined || isTestedAnyway ? await noticedByTests(copy, mutation) : [];
    return { mutation, schedule, tests };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function describe({ mutation, schedule, tests }: Verdict): string {
  const by = schedule === undefined ? tests : [schedule, ...tests];
  return `${by.length === 0 ? 'SURVIVED' : 'noticed '}  ${mutation.rule}\n            ${by.join('\n            ')}`;
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    tests: { type: 'boolean', default: false },
    schedules: { type: 'string', default: '300' },
    minutes: { type: 'string' },
    'go-on': { type: 'string' },
  },
});
const chosen = MUTATIONS.filter(({ rule, file, schedules }) =>
  [rule, file, schedules?.mode ?? ''].some((text) => text.includes(values.only)),
);
const goOn = parseGoOn(values.minutes, values['go-on']);
const from = goOn === undefined ? 0 : readNext(goOn.file) % Math.max(chosen.length, 1);
const untilMs = performance.now() + (goOn?.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
let next = from;
const take = (): Mutation | undefined => (performance.now() < untilMs ? chosen[next++] : undefined);
const verdicts: Verdict[] = [];
async function work(): Promise<void> {
  for (let mutation = take(); mutation !== undefined; mutation = take()) {
    const verdict = await judge(mutation, { schedules: Number(values.schedules), isTestedAnyway: values.tests });
    verdicts.push(verdict);
    print(describe(verdict));
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work));
const survivors = verdicts.filter(({ schedule, tests }) => schedule === undefined && tests.length === 0);
const of = `rules ${from} to ${from + verdicts.length} of ${chosen.length}`;
print(`\n${of}: ${verdicts.length} tried, ${survivors.length} can be taken out unnoticed`);
if (goOn !== undefined) writeNext(goOn.file, (from + verdicts.length) % Math.max(chosen.length, 1));
process.exitCode = survivors.length === 0 && verdicts.length > 0 ? 0 : 1;
