/** What the page shows of a job: from two looks at its status. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { JobResult } from '../../../src/cluster/job/job-result.ts';
import { scalarsOf } from '../../../src/commands/history/scalars.ts';
import { curvesOf } from '../../../src/commands/page/curves.ts';
import { pageJobOf } from '../../../src/commands/page/page-job.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import type { LiveProcess } from '../../../src/view/describe-job.ts';
import { healthOf } from '../../../src/view/health.ts';
import type { RoleInfo } from '../../../src/view/info.ts';
import { viewOf } from '../../../src/view/job-view.ts';
import type { SeenJob } from '../../../src/view/see-job.ts';
import { waitsOf } from '../../../src/view/waits.ts';
import { recordOf } from '../../cluster/job/stored-job.ts';
import * as infos from '../../cluster/role-infos.ts';

const ID = '5a8f6e0e-2c4f-4a53-9a58-0c5b7b1d2f10';
const SECOND = '6b8f6e0e-2c4f-4a53-9a58-0c5b7b1d2f10';
const record = recordOf(
  parseJobFile(
    'job.yaml',
    'name: small\ndata: {format: libsvm, train: a}\nmodel: {type: lr}\ntraining: {passes: 4}\ncluster: {pservers: 2, shards: 8}\n',
  ),
  { created: 1_000, train: { records: 1_000, tasks: 10 } },
);
const spread = { pservers: [], units: 2, toMove: 1, orphans: 1, missing: [], lacking: [], isTold: true };

const live = (role: RoleInfo['role'], id: string, answer: LiveProcess['answer']): LiveProcess => {
  return { role, id, answer, address: 'here:1', lease: 'a' };
};
const says = (info: RoleInfo, id: string): LiveProcess => live(info.role, id, { kind: 'info', info });
const trainer = (change: object, id = ID): LiveProcess =>
  says({ ...infos.workingTrainer, id, ...change } as RoleInfo, id);
const pserver = (index: number, change: object = {}): LiveProcess =>
  says({ ...infos.asyncPserver(index, 640), ...change } as RoleInfo, String(index));

function statusOf(processes: readonly LiveProcess[], more: Partial<SeenJob> = {}): SeenJob {
  const none = { end: undefined, written: undefined, command: undefined, stopRequested: false, checkpoints: [] };
  const health = healthOf(record.job.cluster, processes);
  return { ...none, record, health, processes, spread, wanted: { pservers: 2, trainers: undefined }, ...more };
}

const UNITS = [
  { unit: 0, primary: 0, inSync: [0, 1], told: { copies: [{ index: 1, state: 'inSync', behind: 3 }] } as never },
  { unit: 1, primary: undefined, inSync: [], told: undefined },
];
const lookAt = (seen: SeenJob, atMs: number) => ({ seen, atMs, wallSeconds: 1_060 });
const jobOf = (status: SeenJob, before?: SeenJob) =>
  pageJobOf({ view: viewOf(lookAt(status, 2_000), before && lookAt(before, 0)), units: UNITS, log: [] });

describe('a job that trains', () => {
  const processes = [says(infos.asyncMaster(), 'master'), pserver(0, { updates: 50 }), trainer({ records: 1_640 })];
  const before = [says(infos.asyncMaster(), 'master'), pserver(0, { updates: 10 }), trainer({ records: 640 })];
  const job = jobOf(statusOf(processes), statusOf(before));

  it('has its progress, speed, and what each process does', () => {
    expect(job).toMatchObject({ name: 'small', mode: 'async', phase: 'training', records: { read: 1_200, lost: 0 } });
    expect(job.progress).toMatchObject({
      ...{ share: 0.3, pass: 1, passes: 4, tasks: { done: 2, total: 10, pending: 1 } },
      ...{ recordsPerSecond: 320, secondsLeft: 8.75, elapsedSeconds: 60, loss: 0.5 },
    });
    expect(job.processes).toMatchObject([
      { key: 'master', id: '', state: 'working', activity: 'training' },
      { key: 'pserver 0', id: '0', state: 'working', rate: 20, rateOf: 'pushes', bytes: 2_500_000 },
      { key: 'trainer 5a8f6e0e', id: '5a8f6e0e', state: 'working', rate: 500, rateOf: 'records' },
    ]);
    expect(job.processes[0]).not.toHaveProperty('slow');
  });

  it('has where units are, and what their furthest copy lacks', () => {
    expect(job.units).toEqual({
      ...{ total: 2, toMove: 1, orphans: 1, replicas: 1 },
      list: [
        { unit: 0, primary: 0, inSync: [0, 1], behind: 3 },
        { unit: 1, primary: undefined, inSync: [], behind: 0 },
      ],
    });
  });
});

describe('a first look', () => {
  it('knows no rate, and has no number that JSON has not', () => {
    const job = jobOf(statusOf([says(infos.asyncMaster(), 'master'), pserver(0), trainer({})]));
    for (const one of job.processes) expect(one.rate).toBeUndefined();
    expect(job.processes.at(-1)).toMatchObject({ rateOf: 'records' });
    expect(JSON.stringify(job)).not.toContain('null');
  });
});

describe('why a job does not go on', () => {
  it('is the sentence of `paddlet why`, and each process says what it is', () => {
    const strange = { kind: 'notUnderstood', error: new PaddletError('BadMessage', 'answered strangely') } as const;
    const job = jobOf(
      statusOf([
        says(infos.asyncMaster(), 'master'),
        live('pserver', '0', { kind: 'none' }),
        live('pserver', '1', strange),
      ]),
    );
    expect(job.why.map(({ sentence }) => sentence).join('\n')).toContain('Pserver 0');
    expect(job.processes).toMatchObject([
      { state: 'working' },
      { state: 'silent', activity: 'does not answer' },
      { state: 'strange', activity: 'answered strangely' },
    ]);
    const [waiting] = jobOf(statusOf([says(infos.waitingMaster, 'master')])).processes;
    expect(waiting).toMatchObject({ state: 'waiting', activity: 'the master lock' });
  });

  it('names a straggler', () => {
    const attempt = {
      ...{
        trainer: ID,
        queue: 'train' as const,
        pass: 1,
        task: 12,
        attempt: 1,
        position: 3,
        where: 'a records 1 to 9',
      },
      ...{ phase: 'compute' as const, executing: true, ranMs: 9_000, ageMs: 40_000, slow: true },
    };
    const job = jobOf(statusOf([says(infos.asyncMaster({ attempts: [attempt] }), 'master'), trainer({})]));
    expect(job.processes.at(-1)).toMatchObject({ slow: 'slow: task 12 for 40 s' });
  });
});

describe('a job that does not run', () => {
  it('has what the store has', () => {
    const tasks = { total: 40, done: 12, discarded: 0 };
    const stored = { mode: 'async', pass: 1, tasks, records: { read: 9, bad: 1, duplicate: 0 } } as const;
    const checkpoints = [
      { index: 0, uuid: 'u', md5: 'm', bytes: 10, timestamp: 1_030, round: undefined },
      { error: 'x' },
    ];
    const job = jobOf(statusOf([], { stored, checkpoints }));
    expect(job).toMatchObject({ phase: 'stopped', progress: { share: 0.3, pass: 1 }, records: { read: 9, bad: 1 } });
    expect(job.why).toMatchObject([{ sentence: expect.stringContaining('process') }]);
    expect(job.checkpoints).toEqual([
      { index: 0, time: 1_030, uuid: 'u', bytes: 10, round: undefined },
      { error: 'x' },
    ]);
  });

  it('has its result when it is done, and the failure when it has failed', () => {
    const model = (passes: number, auc: number) => ({ passes, checkpoint: 'c', metrics: { records: 9, auc } });
    const result = {
      ...{ job: 'small', mode: 'async', passes: 4, tasks: { total: 40, done: 40, discarded: 0 } },
      records: { read: 9, applied: 9, duplicate: 0, bad: 0, discarded: 0, lost: 0 },
      metrics: { train: { records: 9, logloss: 0.4 } },
      evaluation: { metric: 'auc', isStoppedEarly: true, best: model(2, 0.9), last: model(3, 0.8) },
      ...{ modelDigest: 'abc', stateDigest: 'def', recordsPerSecond: 7, elapsedSeconds: 5, checkpoints: [] },
    } as JobResult;
    const job = jobOf(statusOf([], { end: { result } }));
    expect(job).toMatchObject({
      ...{ phase: 'done', why: [], records: result.records },
      progress: { share: 1, pass: 2, elapsedSeconds: 5, recordsPerSecond: 7 },
      kept: { metric: 'auc', best: { passes: 2, value: 0.9 }, last: { passes: 3, value: 0.8 } },
      result: { modelDigest: 'abc', train: { logloss: 0.4 }, test: {} },
    });
    const failed = jobOf(statusOf([], { end: { failure: new PaddletError('DataInvalid', 'a file is gone') } }));
    expect(failed).toMatchObject({ phase: 'failed', why: [{ sentence: expect.stringContaining('a file is gone') }] });
    expect(failed).not.toHaveProperty('result');
  });
});

describe('who waits for whom', () => {
  const master = says(infos.asyncMaster(), 'master');

  it('is none while answers come soon', () => {
    expect(waitsOf(statusOf([master, pserver(0), trainer({})]))).toEqual([]);
  });

  it('is a trainer for the pserver that does not answer it', () => {
    const waiting = trainer({ pserverAnswers: [{ index: 0, meanMs: 3, waitedMs: 4_200 }] });
    expect(waitsOf(statusOf([master, pserver(0), waiting]))).toEqual([
      { from: 'trainer 5a8f6e0e', to: 'pserver 0', what: 'an answer, 4 s' },
    ]);
    // One that is not registered any more is not in the picture.
    expect(waitsOf(statusOf([master, waiting]))).toEqual([]);
  });

  it('is the master for a process that is silent', () => {
    expect(waitsOf(statusOf([master, live('trainer', ID, { kind: 'none' })]))).toMatchObject([
      { from: 'master', to: 'trainer 5a8f6e0e' },
    ]);
  });

  it('is a pserver for the trainer that the staleness bound waits for', () => {
    const heldUp = { pulls: 2, longestMs: 3_000, holders: [{ trainer: ID, silentMs: 3_000 }] };
    const holding = pserver(0, { staleness: { mean: 1, max: 3, refused: 0, heldUp } });
    expect(waitsOf(statusOf([master, holding, trainer({}), trainer({}, SECOND)]))).toEqual([
      {
        from: 'pserver 0',
        to: 'trainer 5a8f6e0e',
        what: expect.stringContaining('2 pulls wait for the staleness bound'),
      },
    ]);
  });

  it('is a pserver for the trainer of the lane that its round lacks', () => {
    const rounds = {
      ...infos.ROUNDS,
      pservers: [
        { index: 0, timeline: 0, version: 85, missing: [3], waitedMs: 2_500 },
        { index: 1, timeline: 0, version: 85, missing: [3], waitedMs: 20 },
      ],
      missing: [{ lane: 3, trainers: [ID], what: 'lane 3' }],
    };
    const processes = [says(infos.syncMaster(rounds), 'master'), says(infos.syncPserver(0), '0'), trainer({})];
    expect(waitsOf(statusOf(processes))).toEqual([
      { from: 'pserver 0', to: 'trainer 5a8f6e0e', what: 'lane 3 of its round, 3 s' },
    ]);
  });
});

describe('curves', () => {
  it('are columns by name, of as many digits as can be seen, with a hole where a value is missing', () => {
    const lines = [
      { kind: 'train', time: 1, pass: 0, trained: 10, records: 10, logloss: 0.123456789 },
      { kind: 'evaluation', name: 'test', time: 2, passes: 1, trained: 20, records: 5, auc: 0.9, logloss: 0.1 },
      { kind: 'pass', time: 2, pass: 0, records: 20, logloss: 0.2 },
      { kind: 'train', time: 3, pass: 1, trained: 20, records: 10, logloss: Number.NaN, accuracy: 0.5 },
    ] as const;
    expect(curvesOf(lines)).toEqual([
      { name: 'train', trained: [10, 20], metrics: { logloss: [0.123457, null], accuracy: [null, 0.5] } },
      { name: 'test', trained: [20], metrics: { logloss: [0.1], auc: [0.9] } },
    ]);
    expect(curvesOf([])).toEqual([]);
  });

  it('are of metrics, not of what these are of', () => {
    const ranked = { hitRate: 0.9, ndcg: 0.8, topK: 10 };
    const line = { kind: 'evaluation', name: 'test', time: 2, passes: 1, trained: 20, records: 5, ...ranked } as const;
    expect(curvesOf([line])).toEqual([{ name: 'test', trained: [20], metrics: { hitRate: [0.9], ndcg: [0.8] } }]);
    expect(scalarsOf([line]).map(({ tag }) => tag)).toEqual(['test/hitRate', 'test/ndcg']);
  });
});

it('has tables with admission, eviction or a bound, and a note if one is too small', () => {
  const [full, other] = infos.TABLES;
  const tables = [{ ...full!, rows: 600 }, other!];
  const processes = [0, 1].map((index) => pserver(index, { tables }));
  expect(jobOf(statusOf(processes)).tables).toMatchObject(
    [
      { name: 'v', rows: 1_200, boundBytes: 160_000, evicted: { bound: 1_400, unseen: 200 }, note: /at its bound/ },
      { name: 'w', rows: 10_000, evicted: { bound: 0, unseen: 200 }, note: undefined },
    ].map(({ note, ...table }) => ({ ...table, note: note && expect.stringMatching(note) })),
  );
  expect(jobOf(statusOf([pserver(0), pserver(1)])).tables).toBeUndefined();
});

it('shows neither dead processes nor waits for them', () => {
  const dead = [live('master', 'master', { kind: 'none' }), live('pserver', '0', { kind: 'none' })];
  expect(jobOf(statusOf(dead)).waits).toHaveLength(1);
  expect(jobOf(statusOf(dead, { here: { kind: 'dead' } }))).toMatchObject({ processes: [], waits: [] });
});
