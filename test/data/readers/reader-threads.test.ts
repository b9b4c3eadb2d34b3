/** Which thread parses a task, and what happens when one fails. */
import { expect, test } from 'vitest';
import { assert } from '../../../src/base/assert.ts';
import { PaddletError } from '../../../src/base/errors.ts';
import type { Thread } from '../../../src/base/seams.ts';
import { sentError } from '../../../src/base/sent-error.ts';
import type { ParsedTask } from '../../../src/data/formats/format.ts';
import { memoryOf } from '../../../src/data/parsed/block.ts';
import { ReaderThreads } from '../../../src/data/readers/reader-threads.ts';
import type { FromReaderThread, ToReaderThread, WantedTask } from '../../../src/data/readers/thread-messages.ts';
import { FakeThread } from '../../fake-thread.ts';
import { goldenBlock } from '../parsed/golden-block.ts';

type Reader = FakeThread<ToReaderThread, FromReaderThread>;

/** The id of the work that the message with that number asks for. */
function idOf({ sent }: Reader, at: number): number {
  const message = sent.at(at)!;
  assert(message.kind !== 'free', 'the message asks for work');
  return message.id;
}

const parsed = (thread: Reader, at: number): void =>
  thread.tell({ kind: 'parsed', id: idOf(thread, at), block: goldenBlock().block });

const task = (bytes: number): WantedTask => ({
  part: 'train',
  files: [],
  chunks: [{ file: 0, offset: 0, bytes, firstRecord: 0, records: 1, firstLine: 1, crc32: 0 }],
});
const HERE = { records: 'here' } as unknown as ParsedTask;
const here = async (): Promise<ParsedTask> => HERE;

function pool(count: number, bytesBeforeStart = 0) {
  const threads: Reader[] = [];
  const logged: string[] = [];
  const quiet = (): void => {};
  const log = { debug: quiet, info: quiet, warn: (message: string) => void logged.push(message), error: quiet };
  const start = (): Thread => {
    threads.push(new FakeThread());
    return threads.at(-1)!;
  };
  return { readers: new ReaderThreads({ count, bytesBeforeStart, start, log }), threads, logged };
}

test('the first bytes are read by the process; threads start for what comes then', async () => {
  const { readers, threads } = pool(2, 100);
  expect(await readers.parse(task(60), here)).toBe(HERE);
  expect(await readers.parse(task(60), here)).toBe(HERE);
  expect([readers.ahead, threads.length]).toEqual([1, 0]);
  const reading = readers.parse(task(1), here);
  expect([readers.ahead, threads.length]).toEqual([4, 2]);
  parsed(threads[0]!, 0);
  expect((await reading).block).toEqual(goldenBlock().block);
  const closing = readers.close();
  for (const thread of threads) {
    expect([thread.sent.at(-1), thread.isClosed]).toEqual([{ kind: 'close', id: expect.any(Number) }, false]);
    thread.tell({ kind: 'closed', id: idOf(thread, -1) });
  }
  await closing;
  expect(threads.map(({ isClosed }) => isClosed)).toEqual([true, true]);
});

test('a task goes to the thread that has the fewest; the process helps with one at a time', async () => {
  const { readers, threads } = pool(2);
  const own = Promise.withResolvers<ParsedTask>();
  let begun = 0;
  const slowly = (): Promise<ParsedTask> => {
    begun += 1;
    return own.promise;
  };
  const all = Array.from({ length: 6 }, () => readers.parse(task(1), slowly));
  expect([...threads.map(({ sent }) => sent.length), begun]).toEqual([3, 2, 1]);
  own.resolve(HERE);
  expect(await all[4]).toBe(HERE);
  void readers.parse(task(1), slowly);
  expect([...threads.map(({ sent }) => sent.length), begun]).toEqual([3, 2, 2]);
  parsed(threads[1]!, 0);
  parsed(threads[1]!, 1);
  expect((await all[1])!.records.records).toBe(goldenBlock().block.records);
  void readers.parse(task(1), slowly);
  expect([...threads.map(({ sent }) => sent.length), begun]).toEqual([3, 3, 2]);
});

test('a failure is that of its task alone; the end of a thread is that of all its tasks', async () => {
  const { readers, threads, logged } = pool(1);
  const [first, second] = [readers.parse(task(1), here), readers.parse(task(1), here)];
  const [thread] = threads as [Reader];
  thread.tell({ kind: 'logged', level: 'warn', message: 'odd', facts: undefined });
  expect(logged).toEqual(['odd']);
  const error = new PaddletError('DataChanged', 'it changed', { hint: 'look' });
  thread.tell({ kind: 'failed', id: idOf(thread, 0), error: sentError(error) });
  await expect(first).rejects.toMatchObject({ code: 'DataChanged', message: 'it changed', hint: 'look' });
  thread.fail(new Error('out of memory'));
  await expect(second).rejects.toThrow('out of memory');
  await expect(readers.parse(task(1), here)).rejects.toThrow('out of memory');
  // The thread no longer answers, and the log says why.
  await readers.close();
  expect([thread.isClosed, logged]).toEqual([true, ['odd', 'a thread that reads tasks has failed']]);
});

test('a thread gets the memory of its task back when the records are released', async () => {
  const { readers, threads } = pool(2);
  const reading = [readers.parse(task(1), here), readers.parse(task(1), here)];
  for (const thread of threads) parsed(thread, 0);
  const [, { records, block }] = (await Promise.all(reading)) as [ParsedTask, ParsedTask];
  records.release!();
  records.release!();
  const memory = memoryOf(block!);
  expect(memory.length).toBeGreaterThan(5);
  expect(threads.map(({ sent }) => sent.slice(1))).toEqual([[], [{ kind: 'free', memory }]]);
});
