/** What `paddlet top` makes of two looks at a job. */
import { expect, it } from 'vitest';
import { headLines, type ProcessRow, rowOf, topTable } from '../../../src/commands/top/rows.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import type { LiveProcess } from '../../../src/view/describe-job.ts';
import type { RoleInfo } from '../../../src/view/info.ts';
import { viewOf } from '../../../src/view/job-view.ts';
import type { Look, SeenJob } from '../../../src/view/see-job.ts';
import { recordOf } from '../../cluster/job/stored-job.ts';
import * as infos from '../../cluster/role-infos.ts';

const ID = '5a8f6e0e-2c4f-4a53-9a58-0c5b7b1d2f10';
const record = recordOf(
  parseJobFile('job.yaml', 'name: small\ndata: {format: libsvm, train: a}\nmodel: {type: lr}\ntraining: {passes: 4}\n'),
);
const spread = { pservers: [], units: 8, toMove: 0, orphans: 0, missing: [], lacking: [] };

const live = (id: string, answer: LiveProcess['answer'], role: RoleInfo['role']): LiveProcess => ({
  ...{ role, id, answer, address: 'here:1', lease: 'a' },
});
const says = (info: RoleInfo, id: string): LiveProcess => live(id, { kind: 'info', info }, info.role);
const look = (atMs: number, processes: readonly LiveProcess[]): Look => ({
  ...{ atMs, wallSeconds: 0 },
  seen: { record, processes, spread, stopRequested: false, health: { status: 'OK' } } as unknown as SeenJob,
});

const rowsOf = (before: Look, now: Look): ProcessRow[] => viewOf(now, before).live.map(rowOf);

const trainer = (records: number, spentMs: object, pid = 17): LiveProcess =>
  says({ ...infos.workingTrainer, records, spentMs: { ...ZERO, ...spentMs }, pid } as RoleInfo, ID);
const ZERO = { start: 0, read: 0, pull: 0, compute: 0, push: 0, wait: 0, idle: 0, parse: 0, route: 0 };
const pserver = (updates: number): LiveProcess => says({ ...infos.asyncPserver(0, 0), updates } as RoleInfo, '0');
const attempt = {
  ...{ trainer: ID, queue: 'train' as const, pass: 1, task: 12, attempt: 1, position: 3, where: 'a records 1 to 9' },
  ...{ phase: 'compute' as const, executing: true, ranMs: 9_000, ageMs: 40_000, slow: true },
};

it('counts between the looks: records and pushes in a second, and shares of time', () => {
  const before = look(1_000, [pserver(100), trainer(640, { pull: 500, compute: 500 })]);
  const master = says(infos.asyncMaster({ attempts: [attempt] }), 'master');
  const now = look(3_000, [master, pserver(150), trainer(1_640, { pull: 2_000, compute: 1_000 })]);
  const rows = rowsOf(before, now);
  expect(rows).toEqual([
    { role: 'master', id: '', note: 'training' },
    { role: 'pserver', id: '0', rate: 25, unit: 'pushes', megabytes: 2.5, time: [] },
    {
      ...{ role: 'trainer', id: ID, rate: 500, unit: 'records', note: 'slow: task 12 for 40 s' },
      time: [
        { phase: 'pull', percent: 75 },
        { phase: 'compute', percent: 25 },
      ],
    },
  ]);
  expect(topTable(rows, 80).rows.at(-1)).toEqual([
    ...['trainer', '5a8f6e0e', '500 records/s', '', 'pull 75% compute 25%', 'slow: task 12 for 40 s'],
  ]);
  expect(topTable(rows, 50).rows.at(-1)).toEqual([
    ...['trainer', '5a8f6e0e', '500 rec/s', 'pull 75%', 'slow: task 12 for 40 s'],
  ]);
  expect(topTable(rows, 50).columns).toHaveLength(topTable(rows, 50).rows[0]!.length);
  expect(headLines(viewOf(now, before))).toEqual([
    'job small: training, pass 2 of 4, 30%, 320 records/s, 9 s left',
    expect.stringContaining('why: Trainer 5a8f6e0e is slow'),
  ]);
});

it('has no rate of a process that was not there before, or is another one now', () => {
  const [row] = rowsOf(look(0, []), look(1_000, [trainer(640, { pull: 10 })]));
  expect(row).toMatchObject({ unit: 'records', time: [{ phase: 'pull', percent: 100 }] });
  expect(row).not.toHaveProperty('rate');
  const [again] = rowsOf(look(0, [trainer(640, {}, 16)]), look(1_000, [trainer(64, { pull: 10 })]));
  expect(again).not.toHaveProperty('rate');
});

it('says of the others what they are', () => {
  const processes = [
    says(infos.waitingMaster, 'master'),
    live('0', { kind: 'none' }, 'pserver'),
    says({ ...infos.syncPserver(1) } as RoleInfo, '1'),
  ];
  expect(rowsOf(look(0, processes), look(2_000, processes))).toEqual([
    { role: 'master', id: '', note: 'waits for the master lock' },
    { role: 'pserver', id: '0', note: 'does not answer' },
    { role: 'pserver', id: '1', rate: 0, unit: 'rounds', megabytes: 2.5, time: [] },
  ]);
});

it('sync mode: marks the trainer that the round waits for', () => {
  const rounds = (waitedMs: number) => ({
    ...infos.ROUNDS,
    pservers: infos.ROUNDS.pservers.map((one) => ({ ...one, waitedMs })),
    missing: [{ lane: 3, trainers: [ID], what: 'lane 3' }],
  });
  const notes = (waitedMs: number) =>
    rowsOf(look(0, []), look(1_000, [says(infos.syncMaster(rounds(waitedMs)), 'master'), trainer(1, {})])).map(
      ({ note }) => note,
    );
  expect(notes(999)).toEqual(['training', undefined]);
  expect(notes(3_000)).toEqual(['training', 'the round waits for it, 3 s']);
});

it('lists no process that is known to be dead', () => {
  const now = look(2_000, [live('0', { kind: 'none' }, 'pserver')]);
  const health = { status: 'UNKNOWN', waitingFor: [], nodes: [] };
  expect(rowsOf(look(0, []), now)).toHaveLength(1);
  expect(rowsOf(look(0, []), { ...now, seen: { ...now.seen, here: { kind: 'dead' }, health } as SeenJob })).toEqual([]);
});
