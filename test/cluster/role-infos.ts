/** What processes of a small job say of themselves. */
import type { DirectingInfo, MasterInfo, PserverInfo, RoundsInfo, TrainerInfo } from '../../src/view/info.ts';

const PROCESS = { pid: 17, host: 'here', version: '0.1.0', troubles: [], errors: [] };
const TRAINER_ID = '5a8f6e0e-2c4f-4a53-9a58-0c5b7b1d2f10';

export const waitingMaster: MasterInfo = {
  ...PROCESS,
  role: 'master',
  state: 'waiting',
  job: 'small',
  waitingFor: 'the master lock',
};
export const waitingPserver: PserverInfo = { ...PROCESS, role: 'pserver', state: 'waiting', waitingFor: 'an index' };
export const waitingTrainer: TrainerInfo = {
  ...PROCESS,
  role: 'trainer',
  state: 'waiting',
  id: TRAINER_ID,
  waitingFor: 'the job',
};

export const workingTrainer: TrainerInfo = {
  ...PROCESS,
  role: 'trainer',
  state: 'working',
  id: TRAINER_ID,
  phase: 'compute',
  records: 640,
  loss: 0.5,
  phaseMs: 40,
  pserverAnswers: [{ index: 0, meanMs: 3, waitedMs: 0 }],
  spentMs: { start: 1, read: 2, pull: 30, compute: 40, push: 5, wait: 6, idle: 7, parse: 8, route: 1 },
  changeoverMs: 10,
};

const SHARDS = {
  ...PROCESS,
  role: 'pserver' as const,
  state: 'working' as const,
  units: 2,
  shards: 4,
  rows: 30,
  bytes: 2_500_000,
  reservedBytes: 4_000_000,
  placement: { revision: '12', shards: 4 },
  held: true,
  duplicatePushes: 0,
  rateShare: 1,
  spentMs: { other: 20, pull: 10, push: 30, copies: 0, moves: 0, save: 0, idle: 40 },
};

export const asyncPserver = (index: number, applied: number): PserverInfo => ({
  ...SHARDS,
  mode: 'async',
  index,
  account: { applied, discarded: 0, passes: [] },
  updates: 9,
  recovery: 0,
  repairing: false,
  staleness: { mean: 1.5, max: 3, refused: 0 },
});

export const syncPserver = (index: number): PserverInfo => ({
  ...SHARDS,
  mode: 'sync',
  index,
  account: { applied: 640, discarded: 0, passes: [] },
  timeline: 0,
  round: 85,
  missing: [3],
});

/** Half of a job's tables with rules. */
export const TABLES: NonNullable<Extract<PserverInfo, { state: 'working' }>['tables']> = [
  {
    ...{ name: 'v', rows: 1_200, candidates: 300, bytes: 72_000, boundBytes: 80_000 },
    ...{ updated: 1_500, admitted: 2_000, notAdmitted: 9_000, refused: 4 },
    evicted: { bound: { rows: 700, candidates: 5_000 }, unseen: { rows: 100, candidates: 50 } },
  },
  {
    ...{ name: 'w', rows: 5_000, candidates: 0, bytes: 140_000, updated: 90_000 },
    ...{ admitted: 5_100, notAdmitted: 0, refused: 0 },
    evicted: { bound: { rows: 0, candidates: 0 }, unseen: { rows: 100, candidates: 0 } },
  },
];

const DIRECTING = {
  ...PROCESS,
  role: 'master' as const,
  state: 'working' as const,
  job: 'small',
  phase: 'training' as const,
  passes: 4,
  records: 1_000,
  ended: [],
  recordsPerSecond: 320,
  quietMs: 120,
  failures: [],
  waitReason: 'that is why',
  trainers: { a: { address: 'here:1', phase: 'pull' as const, records: 640, loss: 0.5 } },
};

type AsyncInfo = Extract<DirectingInfo, { mode: 'async' }>;

export const taskCounts = (counts: Partial<AsyncInfo['tasks']>): AsyncInfo['tasks'] => ({
  phase: 'train',
  pass: 1,
  total: 10,
  todo: 0,
  pending: 1,
  done: 0,
  discarded: 0,
  waiting: 0,
  missingTrainers: 0,
  speculations: 0,
  ...counts,
});

export const asyncMaster = (change: Partial<AsyncInfo> = {}): DirectingInfo => ({
  ...DIRECTING,
  mode: 'async',
  tasks: taskCounts({ done: 2, todo: 7 }),
  recovery: { number: 0, reconciled: 0, repairing: 0 },
  attempts: [],
  discarded: [],
  lost: 0,
  sums: { read: 1_200, good: 1_200, bad: 0, duplicate: 0 },
  ...change,
});

export const ROUNDS: RoundsInfo = {
  total: 400,
  round: 85,
  pass: 2,
  ofPass: { round: 5, rounds: 40 },
  records: 68_000,
  lanes: [['a'], ['a'], ['b'], ['a'], ['b', 'c']],
  helped: 0,
  pservers: [
    { index: 0, timeline: 0, version: 85, missing: [0, 1, 2, 3, 4], waitedMs: 20 },
    { index: 1, timeline: 0, version: 85, missing: [3], waitedMs: 30 },
  ],
  missing: [{ lane: 3, trainers: ['a'], what: 'lane 3 of round 85 (pass 3, task 7: some records)' }],
  timeline: 0,
  cut: { round: 71, files: 2 },
  cuts: { complete: 3, givenUp: 0 },
};

export const syncMaster = (rounds: RoundsInfo = ROUNDS): DirectingInfo => ({ ...DIRECTING, mode: 'sync', rounds });
