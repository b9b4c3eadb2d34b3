/** More passes for a job: one transaction, which leaves the job as it was or continued, whatever becomes of it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { readJobRecord } from '../../../src/cluster/job/job-record.ts';
import { type EvaluationState, evaluationStateSchema } from '../../../src/core/evaluation-points.ts';
import type { Job } from '../../../src/job/schema.ts';
import { raisePasses } from '../../../src/roles/master/raise-passes.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import type { Op } from '../../../src/store/store.ts';
import { aJob, finishing, publishing, recordOf } from '../../cluster/job/stored-job.ts';
import { aStore, Master, stateOf } from './tasks/service-rig.ts';

let data: MemoryStoreData;
let master: Master;

/** After two passes. */
const ENDED = '{"phase":"ended","pass":1}';

const write = (...then: Op[]): void => void data.txn({ if: [], then });
const keys = () => master.context.keys;
const stored = (key: string): string | undefined => data.get(key)?.value;

/** Every key but the lock. */
const state = (): Record<string, string> =>
  Object.fromEntries(
    data
      .range({ prefix: `${keys().chroot}/` })
      .entries.filter(({ key }) => key !== keys().masterLock)
      .map(({ key, value }) => [key, value]),
  );

const stop = new AbortController().signal;
const raise = (job = aJob(), by = master) =>
  raisePasses({ context: by.context, fence: by.fence, record: recordOf(job), passes: 4, stopSignal: stop });

beforeEach(() => {
  const store = aStore();
  data = store.data;
  master = new Master(store.clock, data);
});

const finished = (mode: 'async' | 'sync' = 'async'): void => finishedJob(aJob({ mode }));

function finishedJob(job: Job): void {
  write(...publishing(keys(), recordOf(job)));
  write(...finishing(keys(), job));
}

describe('a finished job', () => {
  it('of tasks goes on with the pass after the last; the commands after the last pass are to run again', async () => {
    finished();
    expect((await raise()).job.training.passes).toBe(4);
    const { store } = master.context;
    expect((await readJobRecord(store, keys()))?.job.training.passes).toBe(4);
    expect(stored(keys().result)).toBeUndefined();
    expect(JSON.parse(stored(keys().tasksState)!)).toEqual({ phase: 'train', pass: 2 });
    expect(stored(keys().hook('before', 0))).toContain('done');
    expect(stored(keys().hook('after', 0))).toBeUndefined();
    // What the job is does not change.
    expect(JSON.parse(stored(keys().job)!)).toMatchObject({ job: { training: { passes: 2 } } });
  });

  it('of rounds has no tasks to go on with', async () => {
    finished('sync');
    const before = stored(keys().tasksState);
    await raise(aJob({ mode: 'sync' }));
    expect(stored(keys().tasksState)).toBe(before);
    expect(stored(keys().result)).toBeUndefined();
  });

  it('waits for its pservers to exit, however long', async () => {
    finished();
    write({ put: keys().ps(1), value: 'there:1' });
    const raised = raise();
    await master.clock.advance(60_000);
    expect(await stateOf(raised)).toBe('open');
    expect(master.log.messages.join('\n')).toContain(`${keys().ps(1)} = there:1`);
    expect(stored(keys().result)).toBeDefined();
    write({ deletePrefix: keys().psPrefix });
    await raised;
    expect(stored(keys().passesDesired)).toBe('4');
  });

  it('a pserver that claims its index just before is waited for, too', async () => {
    finished();
    master.troubled.hold();
    const raised = raise();
    await master.clock.advance(10);
    write({ put: keys().ps(0), value: 'there:0' });
    master.troubled.releaseHold();
    await master.clock.advance(1_000);
    expect(await stateOf(raised)).toBe('open');
    expect(stored(keys().passesDesired)).toBe('2');
    write({ deletePrefix: keys().psPrefix });
    await raised;
    expect(stored(keys().passesDesired)).toBe('4');
  });

  it('that a leaving pserver fails is not continued', async () => {
    finished();
    write({ put: keys().ps(0), value: 'there:0' });
    const raised = raise();
    raised.catch(() => {});
    await master.clock.advance(10);
    const failed = { failed: { code: 'CheckpointCorrupt', message: 'gone', by: 'pserver 0' } };
    write({ put: keys().result, value: JSON.stringify(failed) }, { deletePrefix: keys().psPrefix });
    await master.clock.advance(1_000);
    await expect(raised).rejects.toMatchObject({ code: 'CheckpointCorrupt' });
    expect(stored(keys().passesDesired)).toBe('2');
  });
});

describe('a job that ended early', () => {
  const job: Job = {
    ...aJob({ passes: 3 }),
    evaluation: { everyPasses: 1, data: [], labels: [], metric: 'logloss', minDelta: 0, patience: 3 },
  };
  const model = (name: string) => ({ passes: 1, trained: 3, name, metrics: { logloss: 0.5 } });
  const ended: EvaluationState = {
    until: { passes: 2 },
    last: model('pass-2'),
    best: model('pass-1'),
    worse: 3,
    isStopping: true,
  };
  const evaluation = (): EvaluationState => evaluationStateSchema.parse(JSON.parse(stored(keys().evaluation)!));

  beforeEach(() => {
    finishedJob(job);
    write({ put: keys().evaluation, value: JSON.stringify(ended) }, { put: keys().tasksState, value: ENDED });
  });

  it('is to go on from where it has halted, and what had ended it is forgotten', async () => {
    await raise(job);
    expect(evaluation()).toEqual({ ...ended, worse: 0, isStopping: false });
    // The master that goes on opens the next pass.
    expect(stored(keys().tasksState)).toBe(ENDED);
    expect(stored(keys().result)).toBeUndefined();
    expect(stored(keys().passesDesired)).toBe('4');
  });

  it('is as it was until then: all of that is one transaction', async () => {
    const before = state();
    master.troubled.hold();
    const raised = raise(job);
    await master.clock.advance(1_000);
    expect(state()).toEqual(before);
    master.troubled.releaseHold();
    await raised;
    const raising = master.troubled.writes.filter(({ succeeded }) => succeeded);
    expect(raising).toHaveLength(1);
    const written = raising[0]!.txn.then.flatMap((op) => ('put' in op ? [op.put] : []));
    expect(written).toEqual([keys().passesDesired, keys().evaluation]);
  });

  it('with a model that is scored in the meantime, keeps those scores', async () => {
    master.troubled.hold();
    const raised = raise(job);
    await master.clock.advance(10);
    write({ put: keys().evaluation, value: JSON.stringify({ ...ended, best: model('pass-2') }) });
    master.troubled.releaseHold();
    await master.clock.advance(1_000);
    await raised;
    expect(evaluation()).toMatchObject({ best: { name: 'pass-2' }, isStopping: false });
  });
});

describe('an unfinished job', () => {
  beforeEach(() => write(...publishing(keys(), recordOf(aJob()))));

  it('stays in the pass that it is in', async () => {
    write({ put: keys().tasksState, value: '{"phase":"train","pass":1}' });
    await raise();
    expect(JSON.parse(stored(keys().tasksState)!)).toEqual({ phase: 'train', pass: 1 });
  });

  it('whose passes were over goes on', async () => {
    write({ put: keys().tasksState, value: '{"phase":"ended","pass":1}' });
    await raise();
    expect(JSON.parse(stored(keys().tasksState)!)).toEqual({ phase: 'train', pass: 2 });
  });

  it('a try that was given up lands no more, not even when nothing but the number has changed', async () => {
    master.troubled.next('unknownLate');
    const raised = raise();
    await master.clock.advance(30_000);
    await raised;
    expect(master.troubled.landLate()).toEqual([false]);
  });

  it('is refused while pservers live', async () => {
    write({ put: keys().ps(0), value: 'there:0' });
    const before = state();
    const raised = raise();
    raised.catch(() => {});
    await master.clock.advance(60_000);
    await expect(raised).rejects.toMatchObject({
      code: 'JobConflict',
      message: expect.stringContaining(`${keys().ps(0)} = there:0`),
      hint: expect.stringContaining('paddlet stop'),
    });
    expect(state()).toEqual(before);
  });
});

describe('what becomes of the transaction', () => {
  beforeEach(() => finished());

  it.each(['unavailable', 'unknownLanded', 'unknownLost', 'unknownLate'] as const)(
    '%s: once, and whole',
    async (how) => {
      master.troubled.next(how);
      const raised = raise();
      await master.clock.advance(30_000);
      expect((await raised).job.training.passes).toBe(4);
      const after = state();
      expect(master.troubled.landLate()).toEqual(how === 'unknownLate' ? [false] : []);
      expect(state()).toEqual(after);
      expect(stored(keys().result)).toBeUndefined();
    },
  );

  it('of a master that has lost the lock nothing lands, then or later', async () => {
    master.troubled.next('unknownLate');
    const raised = raise();
    raised.catch(() => {});
    await master.clock.advance(0);
    const before = state();
    const next = new Master(master.clock, data);
    expect(master.troubled.landLate()).toEqual([false]);
    await master.clock.advance(30_000);
    await expect(raised).rejects.toMatchObject({ code: 'LeaseGone' });
    expect(state()).toEqual(before);
    await raise(aJob(), next);
    expect(stored(keys().passesDesired)).toBe('4');
  });
});
