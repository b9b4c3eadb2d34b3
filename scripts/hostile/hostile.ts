/**
 * `npx node scripts/hostile/hostile.ts [--mode async|sync] [--strangers 2] [--seconds 20] [--seed N] [--types a,b]`:
 * trains a job with real processes of dist/paddlet while clients that hold the job's token send well-formed, wrong
 * requests to every role. No role may die, the job must end, and its account must be exact, or the job must have failed
 * with a reason; no more records may count as read than the attempts that were handed out have. Exits with 0 when all
 * holds; else says what does not and keeps the folder with the logs.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { ClusterContext } from '../../src/cluster/context.ts';
import { modelOf } from '../../src/cluster/job/job-model.ts';
import { readJobRecord } from '../../src/cluster/job/job-record.ts';
import { type JobEnd, parseJobEnd } from '../../src/cluster/job/job-watch.ts';
import { StoredJoinToken } from '../../src/cluster/job/join-token.ts';
import { SYNTH_DEFAULTS, writeSynth } from '../../src/data/synth/synth.ts';
import { createHost } from '../../src/host/host.ts';
import { createWebSocketNetwork } from '../../src/protocol/websocket/network.ts';
import { keysOf } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import { Cluster, type RoleSpec } from '../chaos/cluster.ts';
import { runStranger } from './stranger.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const RECORDS = 8_000;
const PASSES = 12;
const RECORDS_PER_TASK = 100;
/** From the last request of the strangers to the end of the job. */
const END_WITHIN_MS = 180_000;

const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'async' },
    strangers: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1000)) },
    types: { type: 'string' },
    paddlet: { type: 'string', default: join(ROOT, 'dist/paddlet') },
  },
});
const seed = Number(values.seed);
const folder = mkdtempSync(join(tmpdir(), 'paddlet-hostile-'));
const logs = join(folder, 'logs');
mkdirSync(logs);
const host = createHost({ logLevel: 'error', logFormat: 'text' });
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const JOB = {
  name: 'hostile',
  data: { train: 'train.libsvm', test: 'test.libsvm', format: 'libsvm', recordsPerTask: RECORDS_PER_TASK },
  model: { type: 'fm', factors: 4 },
  optimizer: { type: 'adam', learningRate: 0.001 },
  training: { passes: PASSES, batchSize: 10, mode: values.mode, ...(values.mode === 'sync' ? { lanes: 4 } : {}) },
  cluster: { pservers: 2, trainers: 3, shards: 32, leaseTtl: '10s' },
  checkpoint: { interval: '2s' },
  ...(values.mode === 'async' ? { tasks: { timeoutFloor: '2s', maxDiscarded: 1000 } } : {}),
};

const SPECS: readonly RoleSpec[] = [
  { name: 'master 0', role: 'master', args: ['master', 'job.yaml', '--data-dir', folder] },
  ...[0, 1].map((i) => ({
    name: `pserver ${i}`,
    role: 'pserver' as const,
    args: ['pserver', '--index', String(i), '--dir', 'roles'],
  })),
  ...[0, 1, 2].map((i) => ({
    name: `trainer ${i}`,
    role: 'trainer' as const,
    args: ['trainer', '--data-dir', folder],
  })),
];

async function until<T>(withinMs: number, look: () => Promise<T | undefined>): Promise<T | undefined> {
  const endMs = performance.now() + withinMs;
  while (performance.now() < endMs) {
    const found = await look();
    if (found !== undefined) return found;
    await pause(100);
  }
  return undefined;
}

const answers = new Map<string, number>();

/** Until the time is over, the job has ended, or a role has. */
async function torment(context: ClusterContext, cluster: Cluster): Promise<void> {
  const record = await until(30_000, () => readJobRecord(context.store, context.keys));
  if (record === undefined) throw new Error('the job was not published');
  const trainers = { prefix: context.keys.trainersPrefix };
  await until(30_000, async () => (await context.store.range(trainers)).entries[0]);
  const over = new AbortController();
  const ended = cluster.allDone.then(() => over.abort());
  setTimeout(() => over.abort(), 1000 * Number(values.seconds));
  const spec = modelOf(record).parameters;
  const types = values.types?.split(',');
  const answered = (type: string, outcome: string): void => {
    const what = `${type} ${outcome}`;
    answers.set(what, (answers.get(what) ?? 0) + 1);
  };
  const strangers = Array.from({ length: Number(values.strangers) }, (_, number) =>
    runStranger({ context, record, spec, seed: seed + number, types, signal: over.signal, answered }),
  );
  await Promise.race([Promise.all(strangers), ended]);
  over.abort();
  await Promise.all(strangers);
}

/** As the master handed them out: each attempt reads the records of its task once at most. */
function mostRead(): number {
  if (values.mode === 'sync') return 2 * PASSES * RECORDS;
  const log = readFileSync(join(logs, 'master-0.log'), 'utf8');
  const again = log.match(/: task \d+ is (returned to the queue|copied to)/g) ?? [];
  const replayed = [...log.matchAll(/replaying (\d+) tasks/g)].reduce((sum, [, tasks]) => sum + Number(tasks), 0);
  return PASSES * RECORDS + RECORDS_PER_TASK * (again.length + replayed);
}

function judge(end: JobEnd | undefined, cluster: Cluster): string[] {
  const faults = [...cluster.ends]
    .filter(([how]) => !how.endsWith('exit code 0'))
    .map(([how, times]) => `a role died: ${how} (${times})`);
  if (end === undefined) return [...faults, 'the job hangs: it has no result'];
  if ('failure' in end) {
    print(`the job failed: ${end.failure.code}: ${end.failure.message}`);
    // The roles of a failed job end with its code.
    return end.failure.message === '' ? ['the job failed without a reason'] : [];
  }
  const { applied, lost, bad, discarded, read } = end.result.records;
  print(`the job ended: ${JSON.stringify(end.result.records)}`);
  if (lost !== 0 || applied + bad + discarded !== PASSES * RECORDS) faults.push('the account is wrong');
  const most = mostRead();
  if (read > most) faults.push(`${read} records are said to have been read, ${most} can have been`);
  return faults;
}

async function run(): Promise<boolean> {
  await writeSynth(host, folder, {
    ...SYNTH_DEFAULTS,
    records: RECORDS,
    testRecords: 500,
    features: 60,
    perRecord: 8,
    factors: 0,
  });
  writeFileSync(join(folder, 'job.yaml'), JSON.stringify(JOB, undefined, 2));
  const storeUrl = `sqlite:${join(folder, 'store.db')}`;
  const paddlet = resolve(values.paddlet);
  const cluster = new Cluster({
    paddlet,
    folder,
    logs,
    storeUrl,
    specs: SPECS,
    restartAfterMs: () => 200,
    say: print,
  });
  const store = await openStore(storeUrl, host);
  const keys = keysOf('/paddlet/hostile');
  const joinToken = new StoredJoinToken({ ...host, store, keys });
  const context = { host, store, keys, network: createWebSocketNetwork({ ...host, joinToken }) };
  try {
    cluster.start();
    await torment(context, cluster);
    const entry = await until(END_WITHIN_MS, () => store.get(context.keys.result));
    if (entry !== undefined) await Promise.race([cluster.allDone, pause(20_000)]);
    const end = entry && parseJobEnd(entry.key, entry.value);
    const faults = judge(end, cluster);
    cluster.killAll();
    for (const [what, count] of [...answers].sort()) print(`  ${what.padEnd(44)} ${count}`);
    for (const fault of faults) print(`VIOLATED: ${fault}`);
    return faults.length === 0;
  } finally {
    cluster.killAll();
    await store.close();
  }
}

let holds = false;
try {
  holds = await run();
} finally {
  if (holds) rmSync(folder, { recursive: true });
  else print(`seed ${seed}; logs are kept in ${logs}`);
}
print(holds ? 'all holds' : 'VIOLATED');
process.exit(holds ? 0 : 1);
