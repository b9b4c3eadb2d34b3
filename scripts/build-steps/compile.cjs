/**
 * `node compile.cjs BUNDLE OUTPUT`, in an empty folder: trains a small job, with all roles in this process, and writes
 * the code that V8 has compiled. Node's own code cache for single executables lacks the functions that V8 compiles
 * when they are first called: nearly all.
 */
const { readFileSync, writeFileSync } = require('node:fs');
const { setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');

const JOB = `
name: small
data:
  format: csv
  train: small.csv
  recordsPerTask: 100
  split: { test: 0.2 }
  columns: { number: number, text: category, label: label }
model: { type: lr }
optimizer: { type: adagrad, learningRate: 0.05 }
training: { mode: async, passes: 2, batchSize: 32, seed: 1 }
cluster: { pservers: 1, trainers: 1 }
`;
const RECORDS = Array.from({ length: 400 }, (_, number) => `${number},${number % 7},${number % 2}`);
const STORE = '--store sqlite:store.db';
/** For `run` and `status` the help is enough: it loads all of their code, and most of their time is the start. */
const COMMANDS = [
  'run --help',
  'status --help',
  `master small.yaml ${STORE}`,
  `pserver small ${STORE}`,
  `trainer small ${STORE}`,
];

const [bundle, output] = process.argv.slice(2);
writeFileSync('small.yaml', JOB);
writeFileSync('small.csv', ['number,text,label', ...RECORDS, ''].join('\n'));

// V8 drops code that was not called for a while.
setFlagsFromString('--no-flush-bytecode');
const script = new Script(readFileSync(bundle, 'utf8'), { filename: process.execPath });
const load = script.runInThisContext();

const { exit } = process;
let running = COMMANDS.length;
/** Called by each command at its end. */
process.exit = (code) => {
  if (code !== 0) exit(code);
  if (--running > 0) return;
  // V8 takes code only under the flags that it was made under.
  setFlagsFromString('--flush-bytecode');
  writeFileSync(output, script.createCachedData());
  exit(0);
};
for (const command of COMMANDS) {
  process.argv = [process.execPath, bundle, ...command.split(' ')];
  load(exports, require, module, process.execPath);
}
