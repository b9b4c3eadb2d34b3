/** Threads that make parts: which one gets a part, and what happens when a pull or a thread fails. */
import { expect, test } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import { receivedError, sentError } from '../../../src/base/sent-error.ts';
import type { FromThread, ToThread } from '../../../src/commands/predict/thread-messages.ts';
import { createThreadPool } from '../../../src/commands/predict/thread-pool.ts';
import { NO_TALLY, type ScoreClient } from '../../../src/roles/evaluator/score-groups.ts';
import { FakeThread } from '../../fake-thread.ts';

const { signal } = new AbortController();
const PART = { bytes: new Uint8Array(3), offset: 0, first: 1 };
const MADE = { made: new Uint8Array(0), tally: NO_TALLY };

const clientOf = (pull: ScoreClient['pull']): ScoreClient => ({ pull });
const VALUES = { dense: [Float32Array.of(1)], sparse: [] };

function aPool(count: number) {
  const threads = Array.from({ length: count }, () => new FakeThread<ToThread, FromThread>());
  return { threads, pool: createThreadPool(threads) };
}

test('a part goes to the thread that has the fewest', async () => {
  const { threads, pool } = aPool(2);
  const client = clientOf(async () => VALUES);
  const first = pool.make(PART, client, signal);
  void pool.make(PART, client, signal);
  const idOf = (thread: number, at: number): number => threads[thread]!.sent[at]!.id;
  expect(threads.map(({ sent }) => sent.length)).toEqual([1, 1]);
  threads[0]!.tell({ kind: 'made', id: idOf(0, 0), made: MADE });
  expect(await first).toBe(MADE);
  void pool.make(PART, client, signal);
  expect(threads.map(({ sent }) => sent.length)).toEqual([2, 1]);
  await pool.close();
  expect(threads.map(({ isClosed }) => isClosed)).toEqual([true, true]);
});

test('values are pulled for the thread; a pull that fails fails its part alone, with its own error', async () => {
  const { threads, pool } = aPool(1);
  const gone = new Error('gone');
  let pulls = 0;
  const client = clientOf(async () => {
    pulls += 1;
    if (pulls === 2) throw gone;
    return VALUES;
  });
  const [thread] = threads as [FakeThread<ToThread, FromThread>];
  const parts = [1, 2].map(() => pool.make(PART, client, signal));
  const failed = parts[1]!.catch((error: unknown) => error);
  const [a, b] = thread.sent.map(({ id }) => id);
  thread.tell({ kind: 'pull', id: a!, ids: [] });
  thread.tell({ kind: 'pull', id: b!, ids: [] });
  expect(await failed).toBe(gone);
  expect(thread.sent.slice(2)).toEqual([
    { kind: 'answer', id: a, answer: VALUES },
    { kind: 'answer', id: b, answer: undefined },
  ]);
  // What the thread says of a part that was given up is too late.
  thread.tell({ kind: 'failed', id: b!, error: sentError(new Error('given up')) });
  thread.tell({ kind: 'made', id: a!, made: MADE });
  expect(await parts[0]).toBe(MADE);
});

test('a thread that ends fails its parts, and takes no more', async () => {
  const { threads, pool } = aPool(1);
  const client = clientOf(async () => VALUES);
  const part = pool.make(PART, client, signal);
  const ended = new Error('a thread has ended with 1');
  threads[0]!.fail(ended);
  await expect(part).rejects.toBe(ended);
  await expect(pool.make(PART, client, signal)).rejects.toBe(ended);
});

test('errors keep what a user sees of them, bugs their stack', () => {
  const invalid = new PaddletError('DataInvalid', 'in:3:1: this quote is not closed', { hint: 'write it twice' });
  expect(receivedError(structuredClone(sentError(invalid)))).toEqual(invalid);
  const bug = new TypeError('x is undefined');
  expect(receivedError(structuredClone(sentError(bug)))).toMatchObject({ message: bug.message, stack: bug.stack });
});
