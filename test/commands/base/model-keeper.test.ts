/** A kept model is scored by another process: what it is told, and what becomes of all that it may say. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Shell, ShellEnd } from '../../../src/base/seams.ts';
import { checkpointPath, jobTag } from '../../../src/checkpoint/file/paths.ts';
import type { RoleContext } from '../../../src/cluster/context.ts';
import { modelKeeperOf } from '../../../src/commands/base/model-keeper.ts';
import { selfCommand } from '../../../src/host/processes.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import { uuidOf } from '../../checkpoint/fixture.ts';
import { aJob, recordOf } from '../../cluster/job/stored-job.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../../simulated-disk.ts';
import { FakeClock, put, RecordingLog } from '../../store/support.ts';

const NAME = `test.${jobTag(recordOf(aJob()).id)}`;
const METRICS = { records: 10, logloss: 0.25, auc: 0.75 };
const WELL: ShellEnd = { code: 0, signal: null };

const keys = keysOf('');
const LOCK = { key: keys.masterLock, token: 0n };
const clock = new FakeClock();

let disk: SimulatedDisk;
let store: MemoryStore;
let log: RecordingLog;
const stop = new AbortController();

beforeEach(() => {
  disk = createSimulatedDisk();
  log = new RecordingLog();
  store = new MemoryStore(new MemoryStoreData({ clock }));
});

interface Said {
  readonly end?: ShellEnd;
  readonly lines?: readonly (readonly ['stdout' | 'stderr', string])[];
  /** While it runs. */
  readonly duringRun?: () => void;
}

interface Call {
  readonly command: string;
  readonly folder: string;
}

/** The keeper of a job whose commands all end so, and what it ran. */
function keeperThat({ end = WELL, lines = [], duringRun }: Said, evaluation = {}) {
  const calls: Call[] = [];
  const shell: Shell = {
    run: async (command, { folder, onLine }) => {
      calls.push({ command, folder });
      for (const [from, line] of lines) onLine(line, from);
      duringRun?.();
      return end;
    },
  };
  const job = {
    ...aJob(),
    evaluation: { data: [], labels: [], metric: 'logloss' as const, minDelta: 0, ...evaluation },
  };
  const record = recordOf(job, { dataDir: '/elsewhere' });
  const host = { log, storage: disk.storage, random: { uuid: () => 'spool' }, clock };
  const context = { host, store, keys } as unknown as RoleContext;
  const keeper = modelKeeperOf({ shell, dataDir: '/my data', cacheDir: '/cache' })({
    ...{ context, record, fence: LOCK },
    checkpointFolder: '/job/check points',
  });
  return { keeper, calls };
}

const out = (value: unknown) => ['stdout', JSON.stringify(value)] as const;
const scoreBy = (said: Said, signal = stop.signal) => keeperThat(said).keeper.score('pass-2', signal);

describe('the command', () => {
  /** This program, as it was started. */
  const self = (): string => [selfCommand().command, ...selfCommand().args].join(' ');

  it('is evaluate of this program, in the folder of the data, with the files of the job', async () => {
    const { keeper, calls } = keeperThat({ lines: [out(METRICS)] });
    await keeper.score('pass-2', stop.signal);
    const checkpoint = `'/job/check points/kept/${NAME}/pass-2.json'`;
    expect(calls).toEqual([
      {
        command: `${self()} evaluate ${checkpoint} --data-dir '/my data' --cache-dir /cache --json`,
        folder: '/my data',
      },
    ]);
  });

  it('names the held-out files of the job and their labels', async () => {
    const files = { data: ['a b.gz', "it's"], labels: ['l1', 'l2'] };
    const { keeper, calls } = keeperThat({ lines: [out(METRICS)] }, files);
    await keeper.score('pass-2', stop.signal);
    const named = String.raw`--data 'a b.gz' --data 'it'\''s' --labels l1 --labels l2`;
    expect(calls[0]!.command).toContain(` ${named} --data-dir `);
  });
});

describe('what it says', () => {
  it('gives the metrics, however many lines they are, among those of its log', async () => {
    const lines = JSON.stringify({ ...METRICS, checkpoint: 'of others' }, undefined, 2)
      .split('\n')
      .map((line) => ['stdout', line] as const);
    const noise = [['stderr', '{"reading": 1}'] as const, ['stderr', 'read'] as const];
    const metrics = await scoreBy({ lines: [noise[0]!, ...lines.slice(0, 2), noise[1]!, ...lines.slice(2)] });
    expect(metrics).toEqual(METRICS);
    expect(log.messages).toEqual(['evaluating pass-2: {"reading": 1}', 'evaluating pass-2: read']);
  });

  it.each<[string, Said, string]>([
    ['no JSON', { lines: [['stdout', 'nothing of that']] }, 'exit code 0'],
    ['nothing', {}, 'exit code 0'],
    ['JSON that is no metrics', { lines: [out({ records: -1 })] }, 'exit code 0'],
    ['a failure without an error', { end: { code: 9, signal: null } }, 'exit code 9'],
    ['metrics, and fails', { end: { code: 1, signal: null }, lines: [out(METRICS)] }, 'exit code 1'],
    [
      'an error that has no known code',
      { end: { code: 9, signal: null }, lines: [out({ error: { code: 'Odd', message: 'm' } })] },
      'exit code 9',
    ],
    ['nothing, and is killed', { end: { code: null, signal: 'SIGKILL' } }, 'it was ended by SIGKILL'],
  ])('%s: it could not be evaluated', async (_, said, why) => {
    await expect(scoreBy(said)).rejects.toMatchObject({
      code: 'EvaluationFailed',
      message: `/job/check points/kept/${NAME}/pass-2.json could not be evaluated: ${why}`,
      hint: 'read the output of the evaluation in the log of the master',
    });
  });

  it('an error of its own is that of the model', async () => {
    const error = { code: 'DataInvalid', message: 'line 3 is no record', hint: 'look at line 3' };
    await expect(scoreBy({ end: { code: 4, signal: null }, lines: [out({ error })] })).rejects.toMatchObject({
      code: 'DataInvalid',
      message: expect.stringMatching(/pass-2.json could not be evaluated: line 3 is no record$/),
      hint: 'look at line 3',
    });
  });

  it.each(['Interrupted', 'StoreUnavailable', 'NotReady'])('an error %s is none of the model', async (code) => {
    const error = { code, message: 'not now' };
    await expect(scoreBy({ end: { code: 5, signal: null }, lines: [out({ error })] })).rejects.toMatchObject({
      code: 'EvaluationFailed',
      message: expect.stringMatching(/could not be evaluated: not now$/),
    });
  });

  it('a metric that is no number is missing', async () => {
    expect(await scoreBy({ lines: [out({ ...METRICS, auc: Number.NaN })] })).toEqual({ records: 10, logloss: 0.25 });
  });

  it('does not matter once the master was asked to stop', async () => {
    const asked = new AbortController();
    const end = { code: null, signal: 'SIGTERM' };
    await expect(scoreBy({ end, duringRun: () => asked.abort() }, asked.signal)).rejects.toMatchObject({
      code: 'Interrupted',
    });
  });
});

describe('files', () => {
  const file = { index: 1, uuid: uuidOf(1) };
  const published = checkpointPath({ folder: '/job/check points', index: 1 }, file.uuid);

  beforeEach(async () => {
    const generation = { uuid: file.uuid, md5: '0'.repeat(32), timestamp: 1 };
    await put(store, keys.checkpoint(1), JSON.stringify(generation));
    await put(store, LOCK.key, 'master');
    LOCK.token = (await store.get(LOCK.key))!.createRevision;
  });

  it('are kept by a manifest in the folder of the job', async () => {
    disk.place(published, new Uint8Array(3));
    const { keeper } = keeperThat({});
    await keeper.keep('pass-2', [file]);
    expect(keeper.pathOf('pass-2')).toBe(`/job/check points/kept/${NAME}/pass-2.json`);
    expect(disk.content(keeper.pathOf('pass-2'))).toBeDefined();
    expect(await keeper.names()).toEqual(['pass-2']);
    await keeper.remove('pass-2');
    expect(await keeper.names()).toEqual([]);
    expect(disk.content(keeper.pathOf('pass-2'))).toBeUndefined();
    expect(disk.content(published)).toBeDefined();
  });

  it('that are gone are missing checkpoints; other failures stay what they are', async () => {
    const { keeper } = keeperThat({});
    await expect(keeper.keep('pass-2', [file])).rejects.toMatchObject({
      code: 'CheckpointMissing',
      hint: expect.stringContaining('the checkpoint folder of the pservers (/job/check points): set checkpoint.dir'),
    });
    disk.place(published, new Uint8Array(3));
    disk.failNext('create', 'EACCES');
    await expect(keeper.keep('pass-2', [file])).rejects.toMatchObject({ code: 'EACCES' });
  });
});
