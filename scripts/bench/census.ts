/**
 * `npx node scripts/bench/census.ts [--rounds 3] [--paddlet dist/paddlet] [--data ../shared/data]`: the Adult data set
 * from its CSV files to the metrics of the test file, by whole commands, in turns with scikit-learn and XGBoost.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { median } from './figure.ts';
import { findPython } from './python.ts';
import { Paddlet } from './training/paddlet.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const EXAMPLES = ['lr', 'ffm', 'deepfm'];
const PEERS = [
  { what: 'scikit-learn, LogisticRegression', model: 'logistic-regression', imports: 'import pandas, sklearn' },
  { what: 'XGBoost, 200 trees', model: 'xgboost', imports: 'import pandas, sklearn, xgboost' },
];

interface Scores {
  readonly auc: number;
  readonly logloss: number;
}

interface Contestant {
  readonly what: string;
  /** Reads the files, trains and scores the test file. */
  readonly train: () => Promise<Scores>;
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
    data: { type: 'string', default: resolve(ROOT, '../shared/data') },
  },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);

function examplesOf(folder: string): Contestant[] {
  const paddlet = new Paddlet(values.paddlet, folder);
  return EXAMPLES.map((model) => ({
    what: `paddlet, examples/adult-${model}.yaml`,
    train: async () => {
      const job = join(ROOT, `examples/adult-${model}.yaml`);
      const out = await paddlet.call('run', job, '--fresh', '--data-dir', resolve(values.data), '--json');
      return (JSON.parse(out) as { readonly metrics: { readonly test: Scores } }).metrics.test;
    },
  }));
}

async function peers(): Promise<Contestant[]> {
  const files = ['data', 'test'].map((name) => join(values.data, `adult/adult.${name}.gz`));
  const found: Contestant[] = [];
  for (const { what, model, imports } of PEERS) {
    const python = await findPython(imports);
    if (python === undefined) say(`without ${what}: README.md says how to install it`);
    else {
      const script = join(import.meta.dirname, 'census/peers.py');
      const train = async () =>
        JSON.parse((await promisify(execFile)(python, [script, model, ...files])).stdout) as Scores;
      found.push({ what, train });
    }
  }
  return found;
}

interface Measured {
  readonly what: string;
  readonly seconds: number;
  readonly scores: Scores;
}

async function measure({ what, train }: Contestant): Promise<Measured> {
  const startMs = performance.now();
  const scores = await train();
  return { what, seconds: (performance.now() - startMs) / 1000, scores };
}

const folder = mkdtempSync(join(tmpdir(), 'paddlet-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const contestants = [...examplesOf(folder), ...(await peers())];
const measured: Measured[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  for (const contestant of contestants) measured.push(await measure(contestant));
}
const rows = contestants.map(({ what }) => {
  const rounds = measured.filter((one) => one.what === what);
  const middle = (of: (one: Measured) => number): number => median(rounds.map(of));
  return {
    what,
    'test AUC': middle(({ scores }) => scores.auc).toFixed(4),
    'test log loss': middle(({ scores }) => scores.logloss).toFixed(4),
    'whole command, s': middle(({ seconds }) => seconds).toFixed(1),
  };
});
// biome-ignore lint/suspicious/noConsole: the result of a script
console.table(rows);
