/** Which causes are told, and in which order; the sentences that the simulation does not come to. */
import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { parseJobFile } from '../../../src/job/load-job.ts';
import type { LiveProcess } from '../../../src/view/describe-job.ts';
import type { AttemptInfo, DirectingInfo, RoleInfo, RoundsInfo } from '../../../src/view/info.ts';
import { type HeldUpJob, whyOf } from '../../../src/view/why/why.ts';
import { recordOf } from '../../cluster/job/stored-job.ts';
import * as infos from '../../cluster/role-infos.ts';

const TEXT = 'name: small\ndata: {format: libsvm, train: a}\nmodel: {type: lr}\n';
const CLUSTER = 'cluster: {pservers: 2, replicas: 2, minInSync: 2, minPservers: 2, leaseTtl: 5s}\n';
const record = recordOf(parseJobFile('job.yaml', `${TEXT}${CLUSTER}`));
const ID = '5a8f6e0e-2c4f-4a53-9a58-0c5b7b1d2f10';

const live = (role: RoleInfo['role'], id: string, answer: LiveProcess['answer']): LiveProcess => ({
  ...{ role, id, answer },
  address: `${role}:${id.slice(0, 1)}`,
  lease: 'a',
});
const says = (info: RoleInfo, id: string): LiveProcess => live(info.role, id, { kind: 'info', info });
const silent = (role: RoleInfo['role'], id: string): LiveProcess => live(role, id, { kind: 'none' });

const MASTER = says(infos.asyncMaster(), 'master');
const PSERVERS = [0, 1].map((index) => says(infos.asyncPserver(index, 0), String(index)));
const TRAINER = says(infos.workingTrainer, ID);

const EVEN = {
  pservers: [],
  units: 8,
  toMove: 0,
  orphans: 0,
  missing: [],
  lacking: [],
} as unknown as HeldUpJob['spread'];
const seen = (processes: readonly LiveProcess[], more: Partial<HeldUpJob> = {}): HeldUpJob => ({
  ...{ record, processes, end: undefined, stopRequested: false, spread: EVEN },
  ...more,
});
const kinds = (job: HeldUpJob): string[] => whyOf(job).map(({ kind }) => kind);
const sentences = (job: HeldUpJob): string[] => whyOf(job).map(({ sentence }) => sentence);

const withTrouble = (info: RoleInfo, kind: 'store' | 'checkpointFolder' | 'pserver', text: string): RoleInfo => ({
  ...info,
  troubles: [{ kind, text }],
});
const trainer = (change: object): LiveProcess => says({ ...infos.workingTrainer, ...change } as RoleInfo, ID);
const pserver = (index: number, change: object): LiveProcess =>
  says({ ...infos.asyncPserver(index, 0), ...change } as RoleInfo, String(index));

const attempt: AttemptInfo = {
  ...{ trainer: ID, queue: 'train', pass: 1, task: 12, attempt: 1, position: 3, where: 'a records 1 to 9' },
  ...{ phase: 'compute', executing: true, ranMs: 9_000, ageMs: 40_000, slow: true },
};

describe('a job that nothing holds up', () => {
  it('has no cause', () => {
    expect(whyOf(seen([MASTER, ...PSERVERS, TRAINER]))).toEqual([]);
  });

  it('has ended, or no process of it is running', () => {
    const failure = new PaddletError('DataMissing', 'no such file:\n  /data/a');
    expect(sentences(seen([], { end: { failure } as HeldUpJob['end'] }))).toEqual([
      'Job small failed: DataMissing: no such file: /data/a.',
    ]);
    expect(sentences(seen([]))).toEqual(['No process of the job is running.']);
  });
});

describe('the cause comes first', () => {
  it('the store before those who wait for it, and these before those who wait for them', () => {
    const away = 'the store etcd://here: refused';
    const processes = [
      says(withTrouble(infos.asyncMaster(), 'store', away), 'master'),
      pserver(0, { troubles: [{ kind: 'store', text: away }], held: false }),
      silent('pserver', '1'),
      TRAINER,
    ];
    expect(kinds(seen(processes, { stopRequested: true }))).toEqual(['stopping', 'store', 'lease', 'pserver']);
    expect(sentences(seen(processes))[0]).toBe('The master and pserver 0 wait for the store etcd://here: refused.');
    expect(sentences(seen(processes))[1]).toBe(
      'Pserver 0 waits for the store to renew its lease; it answers no requests until its lease is renewed.',
    );
  });

  it('a dead pserver before the copies that are missing by it, and before a trainer that fails by it', () => {
    const lacking = [{ unit: 3, copies: 1 }];
    const spread = { ...EVEN, lacking };
    const gone = { ...spread, missing: [1], orphans: 4 };
    const failure = { trainer: ID, what: 'task 4', code: 'ConnectionLost', error: 'gone', times: 1, agoMs: 1 };
    const master = says(infos.asyncMaster({ failures: [failure] }), 'master');
    expect(kinds(seen([master, PSERVERS[0]!, TRAINER], { spread: gone }))).toEqual(['pservers', 'copies', 'data']);
    expect(sentences(seen([master, PSERVERS[0]!, TRAINER], { spread: gone }))[0]).toBe(
      'Pserver 1 is not running (1 of 2 are): requests to 4 units wait.',
    );
    expect(kinds(seen([master, PSERVERS[0]!, silent('pserver', '1'), TRAINER], { spread }))).toEqual([
      ...['pserver', 'copies', 'data'],
    ]);
  });

  it('pservers before the master before trainers, of those that do not answer', () => {
    const all = [silent('trainer', ID), silent('master', 'master'), silent('pserver', '1'), PSERVERS[0]!];
    expect(kinds(seen(all))).toEqual(['pserver', 'master', 'trainer']);
  });

  it('a pserver that is missing, and whose units others have, comes last', () => {
    const spread = { ...EVEN, missing: [1] };
    const waiting = says(infos.waitingMaster, 'master');
    expect(sentences(seen([waiting, PSERVERS[0]!, TRAINER], { spread }))).toEqual([
      'The master waits for the master lock.',
      'Pserver 1 is not running (1 of 2 are); the others have all units.',
    ]);
  });

  it('a request to stop counts as long as a master is there to follow it', () => {
    expect(kinds(seen([MASTER, ...PSERVERS, TRAINER], { stopRequested: true }))).toEqual(['stopping']);
    expect(kinds(seen([...PSERVERS, TRAINER], { stopRequested: true }))).toEqual(['master']);
  });

  it('a client that does not listen is no cause', () => {
    const client = { ...silent('trainer', 'client'), address: '127.0.0.1:1' };
    expect(kinds(seen([MASTER, ...PSERVERS, client]))).toEqual([]);
  });
});

describe('a sentence', () => {
  it('counts those that are many', () => {
    const trouble = (id: string): LiveProcess =>
      says(withTrouble({ ...infos.workingTrainer, id }, 'store', 'the store etcd://here: refused'), id);
    const trainers = ['aaaaaaaa', 'bbbbbbbb', 'cccccccc', 'dddddddd'].map((id) => trouble(`${id}${ID.slice(8)}`));
    expect(sentences(seen([MASTER, ...PSERVERS, ...trainers]))[0]).toBe(
      '4 trainers wait for the store etcd://here: refused.',
    );
  });

  it('says what a missing master, a waiting process and a cut network mean', () => {
    expect(sentences(seen([...PSERVERS, TRAINER]))).toEqual(['No master is running: no work is handed out.']);
    const waiting = says(infos.waitingMaster, 'master');
    expect(sentences(seen([waiting, ...PSERVERS, TRAINER]))).toEqual(['The master waits for the master lock.']);
    const cut = trainer({ troubles: [{ kind: 'pserver', text: 'an answer of pserver 1' }] });
    expect(sentences(seen([MASTER, ...PSERVERS, cut]))).toEqual(['Trainer 5a8f6e0e waits for an answer of pserver 1.']);
  });

  it('compares a slow pserver with the quickest, and takes one alone for slow after a second', () => {
    const answers = (...times: number[]) =>
      trainer({ pserverAnswers: times.map((meanMs, index) => ({ index, meanMs, waitedMs: 0 })) });
    expect(kinds(seen([MASTER, ...PSERVERS, answers(30, 149)]))).toEqual([]);
    expect(sentences(seen([MASTER, ...PSERVERS, answers(30, 150)]))).toEqual([
      'Pserver 1 is slow: trainers wait 150 ms for its answers, and 30 ms for those of the quickest.',
    ]);
    expect(kinds(seen([MASTER, ...PSERVERS, answers(999)]))).toEqual([]);
    expect(sentences(seen([MASTER, ...PSERVERS, answers(1_000)]))).toEqual([
      'Pserver 0 is slow: trainers wait 1000 ms for its answers.',
    ]);
  });

  it('names what a slow trainer has, and the pserver whose answer it waits for', () => {
    const master = says(infos.asyncMaster({ attempts: [attempt] }), 'master');
    expect(sentences(seen([master, ...PSERVERS, trainer({ phaseMs: 12_400 })]))).toEqual([
      'Trainer 5a8f6e0e is slow (in compute for 12 s): it has task 12 of pass 2 (a records 1 to 9), at push 3, for 40 s.',
    ]);
    const pserverAnswers = [
      { index: 0, meanMs: 600, waitedMs: 0 },
      { index: 1, meanMs: 5, waitedMs: 2_100 },
    ];
    const waits = trainer({ phase: 'pull', phaseMs: 2_100, pserverAnswers });
    expect(sentences(seen([master, ...PSERVERS, waits]))[0]).toContain('(in pull of pserver 1 for 2 s)');
  });

  it('of the staleness bound names the trainer that is silent longest, once it has lasted', () => {
    const holders = [
      { trainer: 'bbbbbbbb-1', silentMs: 100 },
      { trainer: ID, silentMs: 7_000 },
    ];
    const staleness = (longestMs: number) => ({
      staleness: { mean: 0, max: 0, refused: 0, heldUp: { pulls: 2, longestMs, holders } },
    });
    const master = says(infos.asyncMaster({ attempts: [{ ...attempt, slow: false }] }), 'master');
    const job = {
      ...record.job,
      training: { ...record.job.training, staleness: { policy: 'wait' as const, bound: 4 } },
    };
    const bounded = { record: { ...record, job } };
    expect(kinds(seen([master, pserver(0, staleness(1_999)), PSERVERS[1]!, TRAINER], bounded))).toEqual([]);
    expect(sentences(seen([master, pserver(0, staleness(2_000)), PSERVERS[1]!, TRAINER], bounded))).toEqual([
      'Trainer 5a8f6e0e has pushed nothing for 7 s, with task 12 of pass 2 (a records 1 to 9), at push 3: ' +
        '2 pulls wait at the staleness bound of 4.',
    ]);
  });

  it('of a barrier is of the round that is furthest behind', () => {
    const rounds = (waitedMs: number): RoundsInfo => ({
      ...infos.ROUNDS,
      pservers: infos.ROUNDS.pservers.map((one) => ({ ...one, waitedMs })),
      missing: [{ lane: 3, trainers: [ID], what: 'lane 3 of round 85 (pass 3, task 7: a records 1 to 9)' }],
    });
    const at = (waitedMs: number): HeldUpJob =>
      seen([
        says(infos.syncMaster(rounds(waitedMs)), 'master'),
        ...[0, 1].map((i) => says(infos.syncPserver(i), String(i))),
        TRAINER,
      ]);
    expect(kinds(at(1_999))).toEqual([]);
    expect(sentences(at(3_000))).toEqual([
      'Round 85 waits 3 s for trainer 5a8f6e0e (in compute for 0 s): lane 3 of round 85 (pass 3, task 7: a records 1 to 9).',
    ]);
  });

  it('of a barrier comes only while training', () => {
    const master = {
      ...infos.syncMaster({
        ...infos.ROUNDS,
        pservers: infos.ROUNDS.pservers.map((one) => ({ ...one, waitedMs: 9_000 })),
      }),
    };
    const at = (phase: DirectingInfo['phase']): HeldUpJob =>
      seen([says({ ...master, phase }, 'master'), TRAINER, ...PSERVERS]);
    expect(kinds(at('training'))).toEqual(['barrier']);
    expect(kinds(at('concluding'))).toEqual([]);
  });

  it('names the trainer that has been at the same work for longest; several steps of large batches are waited for', () => {
    const attempts = [{ ...attempt, slow: false }];
    const at = (quietMs: number, recordsPerSecond: number): HeldUpJob =>
      seen([
        says(infos.asyncMaster({ attempts, quietMs, recordsPerSecond }), 'master'),
        ...PSERVERS,
        trainer({ phaseMs: 3_000 }),
      ]);
    expect(sentences(at(4_000, 320))).toEqual([
      'No trainer has reported a record for 4 s: trainer 5a8f6e0e is in compute for 3 s, with task 12 of pass 2 (a records 1 to 9), at push 3.',
    ]);
    // 128 records a step: 5 of them take 64 s.
    expect(kinds(at(63_000, 10))).toEqual([]);
    expect(kinds(at(64_000, 10))).toEqual(['work']);
  });

  it('says what the master says, when there is nothing else', () => {
    const quiet = (change: Partial<DirectingInfo>): LiveProcess =>
      says({ ...infos.asyncMaster(), ...change } as RoleInfo, 'master');
    expect(sentences(seen([quiet({ quietMs: 9_000 }), ...PSERVERS, TRAINER]))).toEqual([
      'No trainer has reported a record for 9 s: that is why.',
    ]);
    const hook = { name: 'hook after[0]', command: 'upload', forMs: 61_000 };
    expect(whyOf(seen([quiet({ hook, quietMs: 9_000 }), ...PSERVERS, TRAINER]))).toEqual([
      {
        kind: 'hook',
        sentence: 'The master runs hook after[0] of the job for 61 s: upload.',
        hint: 'the job ends when that command has ended',
      },
    ]);
  });

  it('is without a failure that is long ago', () => {
    const failed = (agoMs: number) =>
      says(
        infos.asyncMaster({
          failures: [{ trainer: ID, what: 'task 4', code: 'DataMissing', error: 'no a', times: 3, agoMs }],
        }),
        'master',
      );
    expect(kinds(seen([failed(20_000), ...PSERVERS, TRAINER]))).toEqual([]);
    expect(whyOf(seen([failed(19_999), ...PSERVERS, TRAINER]))).toEqual([
      {
        kind: 'data',
        sentence: 'Trainer 5a8f6e0e failed at task 4, 3 times in a row: DataMissing: no a.',
        hint: 'give the trainer the data folder with --data-dir',
      },
    ]);
  });
});
