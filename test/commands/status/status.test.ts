/** What `status` says of a job, for people and for scripts. */
import { describe, expect, it } from 'vitest';
import { OUTPUTS } from '../../../scripts/output-schema/index.ts';
import { PaddletError } from '../../../src/base/errors.ts';
import type { PserverShare, Spread } from '../../../src/cluster/placement/spread.ts';
import type { Listed } from '../../../src/commands/base/listed-bad-records.ts';
import type { MakeTable } from '../../../src/commands/base/table.ts';
import { statusJson } from '../../../src/commands/status/status-json.ts';
import { statusText } from '../../../src/commands/status/status-text.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import type { InfoAnswer } from '../../../src/view/ask-info.ts';
import type { LiveProcess } from '../../../src/view/describe-job.ts';
import { healthOf } from '../../../src/view/health.ts';
import type { RoleInfo } from '../../../src/view/info.ts';
import { viewOf } from '../../../src/view/job-view.ts';
import type { SeenJob } from '../../../src/view/see-job.ts';
import { recordOf } from '../../cluster/job/stored-job.ts';
import * as infos from '../../cluster/role-infos.ts';

const job = parseJobFile(
  'small.yaml',
  'name: small\ndata: {format: libsvm, train: a}\nmodel: {type: lr}\ntraining: {passes: 4}\ncluster: {pservers: 2, shards: 8}\n',
);
const record = recordOf(job, { created: 1_000, train: { records: 1_000, tasks: 10 } });

const live = (role: LiveProcess['role'], id: string, answer: InfoAnswer): LiveProcess => {
  return { role, id, address: `${role}:${id}`, lease: 'a', answer };
};
const says = (info: RoleInfo, id: string): LiveProcess => live(info.role, id, { kind: 'info', info });
const MASTER = says(infos.asyncMaster(), 'master');
const PSERVERS = [says(infos.asyncPserver(0, 640), '0'), says(infos.asyncPserver(1, 512), '1')];
const TRAINER = says(infos.workingTrainer, 't');

const COMMAND = { command: 'paddlet run job.yaml', folder: '/my jobs', host: 'here' };

const statusOf = (processes: readonly LiveProcess[], more: Partial<SeenJob> = {}): SeenJob => {
  const written = { cluster_status: 'OK' as const, reason: '', nodes: [0, 1] };
  const health = healthOf(record.job.cluster, processes);
  const none = { end: undefined, stopRequested: false, checkpoints: [], command: COMMAND };
  const wanted = { pservers: 2, trainers: undefined };
  return { record, written, health, processes, wanted, spread: EVEN, ...none, ...more };
};

/** What is printed is as promised, too. */
function printed(seen: SeenJob, wallSeconds: number, listed: Listed = {}): object {
  const shown = statusJson(viewOf({ seen, atMs: 0, wallSeconds }), listed);
  OUTPUTS.status!.parse(JSON.parse(JSON.stringify(shown)));
  return shown;
}

const share = (index: number): PserverShare => {
  return { index, status: 'up', isLeaving: false, units: 4, copies: 0, bytes: 2_500_000, labels: {} };
};
const EVEN: Spread = {
  units: 8,
  pservers: [share(0), share(1)],
  missing: [],
  orphans: 0,
  toMove: 0,
  lacking: [],
  isTold: true,
};

const NOW = 1_700_000_125;

/** Where the time of these processes goes. */
const TIMES = [
  'time of trainers: compute 40 %, pull 30 %, parse 8 %, idle 7 %, wait 6 %, push 5 %, read 2 %, start 1 %, route 1 %; 10 % of it between tasks',
  'time of pservers: idle 40 %, push 30 %, other 20 %, pull 10 %',
];

const PACE = 'pace: 320 records/s, mean loss 0.5000, 9 s left';

/** Without the table's alignment. */
function textOf(seen: SeenJob, isWide = false, listed: Listed = {}): string[] {
  const table: MakeTable = (_columns, rows) => rows.map((row) => row.join(' ')).join('\n');
  const view = viewOf({ seen, atMs: 0, wallSeconds: NOW });
  return statusText(view, listed, NOW, { table, isWide }).split('\n');
}

const phaseOf = (seen: SeenJob): string => viewOf({ seen, atMs: 0, wallSeconds: NOW }).phase;

describe('the status of a job in async mode', () => {
  it('has its position, its records, and a line for each process', () => {
    expect(textOf(statusOf([MASTER, ...PSERVERS, TRAINER]))).toEqual([
      'job small: training',
      'pass 2 of 4, 10 tasks: 7 todo, 1 pending, 2 done, 0 discarded',
      'records: 1200 read, 0 bad, 0 duplicate',
      PACE,
      'cluster: OK',
      ...TIMES,
      '',
      'master  17 master:master training',
      'pserver 0 17 pserver:0 2 units, 9 updates, 2.5 MB',
      'pserver 1 17 pserver:1 2 units, 9 updates, 2.5 MB',
      'trainer t 17 trainer:t compute, 640 records, loss 0.5000',
    ]);
  });

  it('for a script: tasks of all passes, and the records of the pserver that applied least', () => {
    expect(printed(statusOf([MASTER, ...PSERVERS, TRAINER]), 1_010)).toMatchObject({
      phase: 'training',
      elapsedSeconds: 10,
      pass: 1,
      tasks: { total: 40, done: 12, discarded: 0, todo: 7, pending: 1 },
      records: { read: 1_200, bad: 0, applied: 512, discarded: 0, lost: 0 },
      recordsPerSecond: 320,
      cluster: {
        cluster_status: 'OK',
        reason: '',
        nodes: [0, 1],
        waitingFor: [],
        written: { cluster_status: 'OK', reason: '', nodes: [0, 1], believed: true },
      },
      waitReason: 'that is why',
      processes: [
        { role: 'master', answers: true },
        { index: 0, updates: 9, spentMs: { push: 30, idle: 40 } },
        { index: 1 },
        { answers: true, spentMs: { parse: 8, route: 1 }, changeoverMs: 10 },
      ],
    });
  });

  it('says nothing of applied records while a pserver does not answer', () => {
    const status = statusOf([MASTER, PSERVERS[0]!, live('pserver', '1', { kind: 'none' })]);
    expect(printed(status, 1_010)).not.toHaveProperty('records.applied');
    expect(textOf(status).at(-1)).toBe('pserver 1  pserver:1 does not answer');
  });

  it('has the newest warning or error of a process below the table; all of them for a script', () => {
    const errors = [1, 2].map((at) => ({ time: NOW - 10 + at, level: 'warn' as const, text: `told ${at}` }));
    const status = statusOf([MASTER, says({ ...infos.asyncPserver(0, 640), errors }, '0'), PSERVERS[1]!]);
    expect(textOf(status).slice(-3)).toEqual(['', 'latest warnings and errors:', '  pserver 0, 8 s ago: warn: told 2']);
    expect(printed(status, NOW)).toMatchObject({ processes: [{ errors: [] }, { errors }, { errors: [] }] });
  });

  it('names slow trainers once, repairs and discarded tasks', () => {
    const attempt = {
      trainer: 't',
      queue: 'train' as const,
      pass: 1,
      task: 3,
      attempt: 2,
      position: 5,
      phase: 'pull' as const,
      where: 'a:1',
    };
    const slow = { ...attempt, executing: true, ranMs: 0, ageMs: 12_340, slow: true };
    const discarded = { task: 4, pass: 0, records: 9, trainer: 't', code: 'DataInvalid', error: 'no', where: 'a:1' };
    const recovery = { number: 2, reconciled: 1, repairing: 6 };
    const master = infos.asyncMaster({ attempts: [slow], discarded: [discarded], recovery });
    const lines = textOf(statusOf([says(master, 'master'), ...PSERVERS, TRAINER]));
    expect(lines.filter((line) => line.includes('slow'))).toEqual([
      'why: Trainer t is slow: it has task 3 of pass 2 (a:1), at push 5, for 12 s.',
    ]);
    expect(lines).toEqual(
      expect.arrayContaining([
        'recovery 2: replaying 6 tasks because a pserver was restored',
        'discarded in pass 1: task 4 (a:1): DataInvalid: no',
      ]),
    );
  });
});

describe('the status of a job that is resized', () => {
  const spread: Spread = {
    ...EVEN,
    pservers: [share(0), { ...share(1), isLeaving: true, units: 3, labels: { hostLabel: 'a7', zone: 'a' } }],
    toMove: 3,
  };
  const status = statusOf([MASTER, ...PSERVERS, TRAINER], { spread, wanted: { pservers: 1, trainers: 4 } });

  it('says what is to move, and who leaves', () => {
    expect(textOf(status).slice(4)).toEqual([
      'cluster: OK',
      'pservers: 1 wanted, 2 running; 3 of 8 units are to move; pserver 1 to leave',
      ...TIMES,
      '',
      'master  17 master:master training',
      'pserver 0 17 pserver:0 2 units, 9 updates, 2.5 MB',
      'pserver 1 17 pserver:1 2 units, 9 updates, 2.5 MB, leaving',
      'trainer t 17 trainer:t compute, 640 records, loss 0.5000',
    ]);
  });

  it('with all that is known of where processes are, if it is asked for', () => {
    expect(textOf(status, true).slice(9)).toEqual([
      'master  17 master:master here   a training',
      'pserver 0 17 pserver:0 here   a 2 units, 4 shards, 30 rows, 2.5 MB, 9 updates',
      'pserver 1 17 pserver:1 here a7 a a 2 units, 4 shards, 30 rows, 2.5 MB, 9 updates, leaving',
      'trainer t 17 trainer:t here   a compute, 640 records, loss 0.5000',
    ]);
  });

  it('for a script: the numbers that are wanted, and the place of each pserver', () => {
    expect(printed(status, 1_010)).toMatchObject({
      wanted: { pservers: 1, trainers: 4 },
      units: { total: 8, toMove: 3, orphans: 0 },
      processes: [
        { role: 'master' },
        { index: 0, status: 'up', isLeaving: false, units: 4 },
        { index: 1, isLeaving: true, units: 3, hostLabel: 'a7', zone: 'a' },
        { role: 'trainer' },
      ],
    });
  });
});

describe('what processes wrote of themselves', () => {
  const FORGED = 't\u001b[2J\nmaster  is fine\u009b31m';
  const said = new PaddletError('BadMessage', `answered ${FORGED}`);
  const status = statusOf([MASTER, live('trainer', FORGED, { kind: 'notUnderstood', error: said })]);

  it('has no control characters for people, and no line of its own', () => {
    const lines = textOf(status);
    expect(lines).toContain('why: Trainer t\\u001b[2J\\u000ama answered t\\u001b[2J; master  is fine\\u009b31m.');
    expect(lines.slice(0, lines.indexOf('')).filter((line) => line.startsWith('master'))).toEqual([]);
  });

  it('is as they wrote it for a script', () => {
    expect(printed(status, 1_010)).toMatchObject({ processes: [{ role: 'master' }, { id: FORGED }] });
  });
});

describe('the status of a job whose master', () => {
  const error = new PaddletError('BadMessage', 'sent an answer that this version does not understand: field mode');
  const odd = live('master', 'master', { kind: 'notUnderstood', error });

  it('answers with something else says so', () => {
    expect(textOf(statusOf([odd]))).toEqual([
      'job small: waiting',
      'newest checkpoint: none',
      'cluster: UNHEALTHY, waiting for pserver 0, 1 (0 of 2 are running)',
      'why: The master sent an answer that this version does not understand: field mode.',
      'and: No trainer is running: nothing is trained.',
      '',
      'master   master:master sent an answer that this version does not understand: field mode',
    ]);
    expect(printed(statusOf([odd]), 1_010)).toMatchObject({
      processes: [{ role: 'master', answers: false, error: { code: 'BadMessage', message: error.message } }],
    });
  });

  it.each([
    ['waits', [says(infos.waitingMaster, 'master')], 'waiting'],
    ['is dead', [], 'stopped'],
  ] as const)('%s', (_what, processes, phase) => {
    expect(phaseOf(statusOf(processes))).toBe(phase);
  });
});

const checkpoints = [0, 1].map((index) => {
  return { index, uuid: `file-${index}`, md5: 'd', bytes: 600_000, timestamp: 1_700_000_000 + index };
});

it('while a disk takes no checkpoint, says how old the newest one is', () => {
  const full = { kind: 'checkpointFolder' as const, text: 'room in /saves' };
  const refused = says({ ...infos.asyncPserver(0, 640), troubles: [full] }, '0');
  const lines = textOf(statusOf([MASTER, refused, PSERVERS[1]!, TRAINER], { checkpoints }));
  expect(lines).toContain(
    'newest checkpoint: 2023-11-14T22:13:20Z, 125 s ago, 1.2 MB (pserver 0: file-0, pserver 1: file-1)',
  );
  expect(lines.filter((line) => line.includes('/saves'))).toEqual([
    'why: Pserver 0 cannot write its checkpoints and waits for room in /saves.',
  ]);
  expect(lines).toContain('cluster: UNHEALTHY');
  expect(textOf(statusOf([MASTER, ...PSERVERS, TRAINER], { checkpoints })).join()).not.toContain('checkpoint');
});

it('says each trouble once, the cause first, and leaves more than three causes to `why`', () => {
  const told = { kind: 'store' as const, text: 'the store at etcd://there' };
  const cutOff = PSERVERS.map(({ answer, id }) =>
    says({ ...(answer as { info: RoleInfo }).info, troubles: [told] }, id),
  );
  expect(textOf(statusOf([MASTER, ...cutOff, TRAINER])).slice(4, 7)).toEqual([
    'cluster: UNHEALTHY',
    'why: Pserver 0 and pserver 1 wait for the store at etcd://there.',
    '  check that the store is running and has free disk space, and that these processes can reach it',
  ]);
  const trainers = Array.from({ length: 5 }, (_, at) => live('trainer', `t${at}`, { kind: 'none' }));
  const lines = textOf(statusOf([MASTER, ...PSERVERS, ...trainers]));
  expect(lines.filter((line) => line.startsWith('and'))).toEqual([
    expect.stringMatching(/^and: Trainer t1 at .* does not answer/),
    expect.stringMatching(/^and: Trainer t2 at .* does not answer/),
    'and 2 more causes: see `paddlet why small`',
  ]);
  // The causes that are left out hide no trouble.
  const withoutMaster = textOf(statusOf([...PSERVERS, ...trainers]));
  expect(withoutMaster).toContain('cluster: UNHEALTHY, waiting for a master (none is registered)');
});

it('does not list dead processes among the live ones', () => {
  const dead = [live('master', 'master', { kind: 'none' }), live('pserver', '0', { kind: 'none' })];
  expect(textOf(statusOf(dead)).at(-1)).toBe('pserver 0  pserver:0 does not answer');
  const lines = textOf(statusOf(dead, { here: { kind: 'dead' } }));
  expect(lines.at(-1)).toBe('no live processes');
  expect(lines.join()).not.toContain('does not answer,master');
});

describe('the status of a job that no master directs', () => {
  const stored = {
    mode: 'async' as const,
    pass: 1,
    tasks: { total: 40, done: 12, discarded: 0 },
    records: { read: 1_200, bad: 0, duplicate: 0 },
  };

  it('is how far it is, its newest checkpoint, and how to resume it', () => {
    expect(textOf(statusOf([], { stored, checkpoints }))).toEqual([
      'job small: stopped',
      'pass 2 of 4; tasks of all passes: 12 of 40 done, 0 discarded',
      'records: 1200 read, 0 bad, 0 duplicate, of finished tasks',
      'newest checkpoint: 2023-11-14T22:13:20Z, 125 s ago, 1.2 MB (pserver 0: file-0, pserver 1: file-1)',
      'cluster: UNKNOWN, no process is running',
      'to resume it, on here:',
      "  cd '/my jobs' && paddlet run job.yaml",
      'no live processes',
    ]);
    expect(printed(statusOf([], { stored, checkpoints }), 1_010)).toMatchObject({
      phase: 'stopped',
      pass: 1,
      tasks: { total: 40, done: 12 },
      records: { read: 1_200 },
      resume: COMMAND,
      cluster: { cluster_status: 'UNKNOWN', nodes: [], written: { cluster_status: 'OK', believed: false } },
    });
  });

  it('in sync mode is a round', () => {
    const rounds = { mode: 'sync' as const, pass: 2, round: 85, total: 400, records: 68_000 };
    expect(textOf(statusOf([], { stored: rounds })).slice(1, 3)).toEqual([
      'pass 3 of 4, round 85 of 400',
      'records: 68000 in these rounds',
    ]);
  });

  it('does not believe what a master wrote that does not answer', () => {
    const dead = (['master', 'pserver', 'trainer'] as const).map((role) => live(role, '0', { kind: 'none' }));
    const status = statusOf(dead);
    expect(phaseOf(status)).toBe('unresponsive');
    expect(textOf(status).slice(2, 4)).toEqual([
      'cluster: UNKNOWN, no process answers: they are dead, suspended or unreachable; waiting for ' +
        'an answer of the master, or the end of its lease, 5 s; an answer of pserver 0, or the end of its lease, 5 s; ' +
        'an answer of trainer 0, or the end of its lease, 5 s',
      'the last master wrote OK, but it does not answer',
    ]);
  });

  it('knows that processes are dead where nothing listens, and waits for no lease then', () => {
    const dead = (['master', 'pserver'] as const).map((role) => live(role, '0', { kind: 'none' }));
    const status = statusOf(dead, { here: { kind: 'dead' } });
    expect(textOf(status).filter((line) => /small|cluster|resume/.test(line))).toEqual([
      'job small: stopped',
      'cluster: UNKNOWN, no process is running: all died; their leases end when the job is started again',
      'to resume it, on here:',
    ]);
    expect(printed(status, 1_010)).toMatchObject({ phase: 'stopped', cluster: { waitingFor: [] } });
  });

  it('is not stopped while a run works in its folder', () => {
    const status = statusOf([], { here: { kind: 'run', pid: 7 } });
    expect(textOf(status).filter((line) => /small|cluster|resume/.test(line))).toEqual([
      'job small: unresponsive',
      'cluster: UNKNOWN, no process is registered, but a `paddlet run` (pid 7) works in the folder: its processes are ' +
        'starting or suspended',
    ]);
    expect(printed(status, 1_010)).toMatchObject({ phase: 'unresponsive', cluster: { run: { pid: 7 } } });
  });
});
