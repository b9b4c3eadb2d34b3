/** Jobs as the page may be told of them. */
import type { PageData, PageJob, PageLogLine, PageProcess, PageUnits } from '../../src/page/page-data.ts';
import { sampleCurves } from './sample-curves.ts';
import { sampleMaster, samplePserver, sampleTrainer } from './sample-processes.ts';

export const TIME = 1_800_000_000;

const log = (name: string, level: PageLogLine['level'], text: string, ago: number): PageLogLine => ({
  ...{ log: name, level, text },
  time: TIME - ago,
});

/** Units in turn; each copy is on the next pserver. */
export function sampleUnits(pservers: number, total: number, replicas: number): PageUnits {
  const list = Array.from({ length: total }, (_, unit) => ({
    unit,
    primary: unit % pservers,
    inSync: Array.from({ length: replicas }, (_, copy) => (unit + copy) % pservers),
    behind: replicas > 1 && unit % 7 === 0 ? 3 : 0,
  }));
  return { total, toMove: 0, orphans: 0, replicas, list };
}

export function sampleProcesses(pservers: number, trainers: number): PageProcess[] {
  return [
    sampleMaster(),
    ...Array.from({ length: pservers }, (_, index) => samplePserver(index)),
    ...Array.from({ length: trainers }, (_, index) => sampleTrainer(index)),
  ];
}

const LOG: readonly PageLogLine[] = [
  log('run', 'info', 'job ctr: 12,000,000 records in 5,860 tasks', 340),
  log('master', 'info', 'pass 3 begins', 61),
  log('pserver-0', 'debug', 'checkpoint 7f0a published', 44),
  log('pserver-1', 'warn', 'a write of the checkpoint took 4.1 s', 41),
  log('master', 'info', 'evaluation of test after 2 passes: logloss 0.4461, auc 0.7803', 12),
];

const training: PageJob = {
  name: 'ctr',
  mode: 'async',
  phase: 'training',
  health: 'OK',
  why: [],
  progress: {
    ...{ share: 0.3714, pass: 3, passes: 10, tasks: { done: 418, total: 586, pending: 8 } },
    ...{ recordsPerSecond: 48_213, secondsLeft: 912, elapsedSeconds: 341, loss: 0.4427 },
  },
  processes: sampleProcesses(3, 4),
  waits: [],
  units: sampleUnits(3, 24, 1),
  records: { read: 4_457_472, good: 4_457_001, bad: 471, applied: 4_440_617, discarded: 0, lost: 0 },
  checkpoints: [0, 1, 2].map((index) => ({ index, time: TIME - 44 - index, uuid: `7f0a-${index}`, bytes: 48_211_456 })),
  kept: { metric: 'auc', last: { passes: 2, value: 0.7803 }, best: { passes: 2, value: 0.7803 } },
  tables: [
    {
      ...{ name: 'v', rows: 812_004, candidates: 120_551, bytes: 498_211_456, boundBytes: 512_000_000 },
      ...{ admitted: 4_100_200, notAdmitted: 9_300_112, refused: 0, evicted: { bound: 3_288_196, unseen: 0 } },
      note: 'Table v is at its bound: it has evicted 3288196 rows, and 57 % of the rows that updates needed were new or evicted.',
    },
    {
      ...{
        name: 'w',
        rows: 1_204_551,
        candidates: 0,
        bytes: 33_727_428,
        admitted: 1_300_000,
        notAdmitted: 0,
        refused: 0,
      },
      evicted: { bound: 0, unseen: 95_449 },
    },
  ],
  log: LOG,
};

const rest: PageJob = {
  ...training,
  phase: 'stopped',
  health: 'UNKNOWN',
  why: [
    {
      sentence: 'No process of the job is running.',
      hint: '`paddlet run` goes on from the last checkpoint',
    },
  ],
  progress: { passes: 10, elapsedSeconds: 0 },
  processes: [],
  units: { total: 24, toMove: 0, orphans: 24, replicas: 1, list: [] },
  records: {},
  checkpoints: [],
  kept: undefined,
  log: [],
};

const slowReason = '3.1 times slower than the median of the trainers';
const straggler: PageJob = {
  ...training,
  mode: 'sync',
  name: 'ctr-sync',
  why: [
    {
      sentence: 'Round 1,204 waits for trainer 4be1a2, which is 3.1 times slower than the others.',
      hint: 'check the load of its machine, its disk and the network to it',
    },
    { sentence: 'Pserver 1 waits for a push.' },
  ],
  progress: {
    ...{ share: 0.6, pass: 1, passes: 2, rounds: { done: 1204, total: 2000 } },
    ...{ recordsPerSecond: 9_830, secondsLeft: 171, elapsedSeconds: 258, loss: 0.4512 },
  },
  processes: sampleProcesses(3, 4).map((process, at) => {
    if (at === 7) return { ...process, slow: slowReason, rate: 2_120, activity: 'trains round 1204' };
    if (process.role === 'trainer') return { ...process, state: 'waiting', activity: 'the end of round 1204', rate: 0 };
    return process.role === 'pserver' ? { ...process, rate: 4, rateOf: 'rounds' } : process;
  }),
  waits: [
    ...[0, 1, 2].map((index) => ({ from: `pserver ${index}`, to: 'trainer 4be1a2', what: 'its push of round 1204' })),
    ...['1ab3f0', '2c47d9', '3dd810'].map((id) => ({
      ...{ from: `trainer ${id}`, to: 'pserver 1', what: 'the parameters of round 1205' },
    })),
  ],
};

const dead: PageJob = {
  ...training,
  health: 'UNHEALTHY',
  why: [
    {
      sentence: 'Pserver 1 does not answer; 8 units have no primary.',
      hint: 'if it is dead, its lease expires within 10s, and then a standby takes its place',
    },
    { sentence: 'Trainers wait for pserver 1.', hint: 'they go on when its units have a primary' },
  ],
  processes: sampleProcesses(3, 4).map((process) => {
    if (process.key === 'pserver 1') {
      const { address, key, role, id } = process;
      return { address, key, role, id, state: 'silent', activity: 'does not answer', time: [], errors: [] };
    }
    if (process.role === 'master') return process;
    const errors = [log(process.key, 'error', 'pserver 1 at 10.0.0.12:7101: connection refused', 3)];
    return { ...process, state: 'waiting', activity: 'pserver 1', rate: 0, errors };
  }),
  waits: ['1ab3f0', '2c47d9', '3dd810', '4be1a2'].map((id) => ({
    ...{ from: `trainer ${id}`, to: 'pserver 1', what: 'pulls of units 1, 4, 7 and 5 more' },
  })),
  units: {
    ...sampleUnits(3, 24, 2),
    orphans: 8,
    list: sampleUnits(3, 24, 2).list.map((unit) => {
      if (unit.primary !== 1) return unit;
      return { unit: unit.unit, inSync: unit.unit === 7 ? [] : [2], behind: 0 };
    }),
  },
  checkpoints: [training.checkpoints[0]!, { error: 'checkpoint of pserver 1: index 1 has no file' }],
  log: [...LOG, log('trainer-4be1a2', 'error', 'pserver 1 at 10.0.0.12:7101: connection refused', 3)],
};

const done: PageJob = {
  ...training,
  phase: 'done',
  why: [{ sentence: 'Job ctr is done.' }],
  progress: { share: 1, pass: 9, passes: 10, elapsedSeconds: 1253, loss: 0.4388 },
  processes: [],
  records: { read: 12e6, good: 11_998_790, bad: 1210, duplicate: 2048, applied: 11_998_790, discarded: 2048, lost: 0 },
  kept: { metric: 'auc', last: { passes: 10, value: 0.7841 }, best: { passes: 8, value: 0.7846 } },
  result: {
    modelDigest: 'sha256:9b1c2f5e7d8a4c6b0e3f1a2d5c7b9e8f6a4d2c0b1e3f5a7d9c8b6e4f2a0d1c3b',
    ...{ recordsPerSecond: 47_902, elapsedSeconds: 1253 },
    train: { logloss: 0.4388, auc: 0.7892, accuracy: 0.8011, calibration: 1.0004 },
    test: { logloss: 0.4419, auc: 0.7841, accuracy: 0.7987, calibration: 0.9971 },
  },
};

const failed: PageJob = {
  ...rest,
  phase: 'failed',
  health: 'UNHEALTHY',
  why: [
    {
      sentence: 'Job ctr failed: BadRecords: task 31 has 2,048 bad records, and the job allows 1 %.',
      hint: 'see the files of bad records, or raise data.maxBadShare',
    },
  ],
  progress: { share: 0.05, pass: 0, passes: 10, elapsedSeconds: 48 },
  records: { read: 204_800, good: 202_752, bad: 2048 },
  log: [...LOG.slice(0, 1), log('master', 'error', 'task 31 failed for good: 2,048 of 2,048 records are bad', 2)],
};

const large: PageJob = {
  ...training,
  name: 'ctr-large',
  processes: sampleProcesses(64, 64).map((process) => {
    if (['pserver 17', 'trainer 22'].includes(process.key)) return { ...process, slow: slowReason };
    return process.key === 'pserver 40' ? { ...process, state: 'silent', activity: 'does not answer' } : process;
  }),
  waits: Array.from({ length: 12 }, (_, at) => ({
    ...{ from: sampleTrainer(at * 5).key, to: 'pserver 40', what: 'a pull' },
  })),
  units: sampleUnits(64, 512, 2),
  checkpoints: Array.from({ length: 64 }, (_, index) => ({ index, time: TIME - 30, uuid: `${index}`, bytes: 9e6 })),
};

const page = (job: PageJob, more: Partial<PageData> = {}): PageData => ({
  ...{ time: TIME, version: '0.1.0', servedBy: 'master', curves: sampleCurves(12) },
  jobs: [{ name: job.name, end: job.phase === 'done' || job.phase === 'failed' ? job.phase : undefined }],
  job,
  ...more,
});

export const SAMPLES = {
  rest: page(rest, { curves: [] }),
  training: page(training),
  straggler: page(straggler, { curves: sampleCurves(3) }),
  dead: page(dead),
  done: page(done, {
    servedBy: 'ui',
    jobs: [
      { name: 'ctr', end: 'done' },
      { name: 'ctr-sync', end: undefined },
      { name: 'fm <b>1</b>', end: 'failed' },
    ],
  }),
  one: page(
    { ...training, processes: sampleProcesses(1, 1), units: sampleUnits(1, 8, 1) },
    { curves: sampleCurves(1) },
  ),
  copies: page({ ...training, processes: sampleProcesses(12, 6), units: sampleUnits(12, 96, 2) }),
  large: page(large),
  failed: page(failed, { curves: [] }),
  none: { time: TIME, version: '0.1.0', servedBy: 'ui', jobs: [] },
} as const satisfies Record<string, PageData>;
