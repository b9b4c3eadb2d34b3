/**
 * `npx node scripts/bench/trainer-heap.ts [--batches 100000] [--mode async] [--model lr]`: how much V8's heap of a
 * trainer, of a pserver and of the master grows while that many mini-batches are trained, and the resident memory of
 * trainer and pserver, in which kernel memory is. A collection comes before each look, by V8's inspector, so only what
 * is kept counts. It fails when the trainer's heap has grown by 1 MiB, or resident memory by 32 MiB. `--model mlp`
 * trains a multilayer perceptron on made images.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import { makeImages } from './training/data.ts';

const { values } = parseArgs({
  options: {
    batches: { type: 'string', default: '100000' },
    mode: { type: 'string', default: 'async' },
    model: { type: 'string', default: 'lr' },
  },
});
const BATCHES = Number(values.batches);
/** Code is compiled and pools are filled until then. */
const WARM_BATCHES = 20_000;
const BATCH_SIZE = 32;
const RECORDS = 32_768;
/** More than are waited for: the run is stopped. */
const PASSES = Math.ceil((2 * (WARM_BATCHES + BATCHES) * BATCH_SIZE) / RECORDS);
const LARGEST_GROWTH_BYTES = 2 ** 20;
const LARGEST_RESIDENT_GROWTH_BYTES = 32 * 2 ** 20;
const LOOK_MS = 500;
const ROLES = ['trainer', 'pserver', 'master'] as const;
type Role = (typeof ROLES)[number];
/** Those with parameters. */
const WORKERS = ['trainer', 'pserver'] as const;

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'paddlet-heap-'));
const node = [process.execPath, join(root, 'bin/paddlet.ts')] as const;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const MODELS = { lr: linear, mlp: perceptron } as const;
const isKnown = (name: string): name is keyof typeof MODELS => Object.hasOwn(MODELS, name);
if (!isKnown(values.model))
  throw new Error(`--model ${values.model}: expected one of ${Object.keys(MODELS).join(', ')}`);
const { data, ...ofModel } = await MODELS[values.model]();
const job = {
  name: 'heap',
  data: { ...data, recordsPerTask: 32 * BATCH_SIZE },
  ...ofModel,
  training: { mode: values.mode, passes: PASSES, batchSize: BATCH_SIZE },
  cluster: { pservers: 1, trainers: 1 },
  checkpoint: { interval: 'off' },
};
writeFileSync(join(folder, 'job.json'), JSON.stringify(job));

const run = spawn(
  node[0],
  ['--inspect=127.0.0.1:0', node[1], 'run', 'job.json', '--data-dir', '.', '--expose-metrics'],
  {
    cwd: folder,
    stdio: 'ignore',
  },
);
const ended = once(run, 'exit');
process.once('exit', () => run.kill('SIGTERM'));
await trained(WARM_BATCHES);
const before = await look();
await trained(WARM_BATCHES + BATCHES);
const after = await look();
run.kill('SIGINT');
await ended;
rmSync(folder, { recursive: true, force: true });

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(2);
for (const role of ROLES) {
  const more = after.heap[role] - before.heap[role];
  print(`${role}: ${mib(before.heap[role])} MiB after a collection, ${mib(more)} MiB more after ${BATCHES}`);
}
for (const role of WORKERS) {
  const more = after.resident[role] - before.resident[role];
  print(`${role}: ${mib(before.resident[role])} MiB resident, ${mib(more)} MiB more after ${BATCHES}`);
  if (more >= LARGEST_RESIDENT_GROWTH_BYTES) throw new Error(`the resident memory of the ${role} grows`);
}
if (after.heap.trainer - before.heap.trainer >= LARGEST_GROWTH_BYTES) throw new Error('the heap of the trainer grows');

async function linear() {
  const counts = ['--records', `${RECORDS}`, '--features', '10000', '--per-record', '14'];
  await call('data', 'synth', '--output', 'synth', ...counts);
  return {
    data: { format: 'libsvm', train: 'synth/train.libsvm' },
    model: { type: 'lr' },
    optimizer: { type: 'adagrad', learningRate: 0.05 },
  };
}

function perceptron() {
  const [train, trainLabels] = ['images-idx3-ubyte', 'labels-idx1-ubyte'];
  makeImages(join(folder, train), join(folder, trainLabels), RECORDS);
  return {
    data: { format: 'idx', train, trainLabels },
    model: { type: 'mlp', hidden: [256, 128] },
    optimizer: { type: 'adam', learningRate: 0.001 },
  };
}

async function call(...args: string[]): Promise<void> {
  const child = spawn(node[0], [node[1], ...args], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`paddlet ${args.join(' ')} ended with ${code}`);
}

async function trained(batches: number): Promise<void> {
  for (;;) {
    if (run.exitCode !== null) throw new Error(`the run ended with ${run.exitCode}; its logs are in ${folder}`);
    const records = await metricOf('trainer', 'paddlet_trainer_records_total');
    if (records !== undefined && records >= batches * BATCH_SIZE) return;
    await sleep(LOOK_MS);
  }
}

/** Undefined: the role has no address yet. */
async function metricOf(role: Role, name: string): Promise<number | undefined> {
  const address = inLog(role, / at (127\.\S+:\d+)/);
  if (address === undefined) return undefined;
  const answer = await fetch(`http://${address}/metrics`);
  const series = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(await answer.text());
  if (series === null) throw new Error(`the ${role} answers ${answer.status}, and no ${name}`);
  return Number(series[1]);
}

/** What the first process of the role has said. Undefined: it has not, so far. */
function inLog(role: Role, pattern: RegExp): string | undefined {
  try {
    const logs = join(folder, '.paddlet/heap/logs');
    const name = readdirSync(logs).find((one) => one.startsWith(role));
    return name === undefined ? undefined : pattern.exec(readFileSync(join(logs, name), 'utf8'))?.[1];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Bytes of the heap in use after a collection, and resident. */
async function look() {
  const heap = { trainer: 0, pserver: 0, master: 0 };
  for (const role of ROLES) heap[role] = await heapOf(inLog(role, /Debugger listening on (ws:\S+)/)!);
  const resident = { trainer: 0, pserver: 0 };
  for (const role of WORKERS) resident[role] = (await metricOf(role, 'process_resident_memory_bytes'))!;
  return { heap, resident };
}

/** https://chromedevtools.github.io/devtools-protocol/v8/ */
async function heapOf(url: string): Promise<number> {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const ask = async (id: number, method: string): Promise<unknown> => {
    socket.send(JSON.stringify({ id, method }));
    for (;;) {
      const [data] = (await once(socket, 'message')) as [Buffer];
      const answer = JSON.parse(data.toString()) as { id?: number; result?: unknown };
      if (answer.id === id) return answer.result;
    }
  };
  await ask(1, 'HeapProfiler.collectGarbage');
  const { usedSize } = (await ask(2, 'Runtime.getHeapUsage')) as { usedSize: number };
  socket.close();
  return usedSize;
}
