/** A thread that reads and parses tasks for its process, and moves their memory to it. */
import { assert } from '../../base/assert.ts';
import type { Log, LogLevel } from '../../base/seams.ts';
import { sentError } from '../../base/sent-error.ts';
import { memoryOf } from '../parsed/block.ts';
import { ParsedCache } from '../parsed/cache.ts';
import type { DataPlace } from '../place.ts';
import type { Selection } from '../selection.ts';
import type { IndexedFile } from '../source.ts';
import { giveBack } from '../spare-memory.ts';
import { createTaskReader } from '../task-reader.ts';
import { type KeptReader, keptReader } from './kept-reader.ts';
import type { FromReaderThread, ReaderThreadData, ToReaderThread, WantedTask } from './thread-messages.ts';

/** The thread's end of the channel to its process. */
export interface ReaderPort {
  /** The memory in `moved` belongs to the process from then on. */
  post(message: FromReaderThread, moved?: readonly ArrayBuffer[]): void;
  onMessage(run: (message: ToReaderThread) => void): void;
}

/** The log is that of the process. */
export function serveReads(
  port: ReaderPort,
  { place: where, reading, cache: kept }: ReaderThreadData,
  host: Omit<DataPlace['host'], 'log'>,
): void {
  const place: DataPlace = { ...where, host: { ...host, log: logOf(port) } };
  const cache = kept && new ParsedCache(place, kept);
  const readerOf = (part: Selection['part']): KeptReader<readonly IndexedFile[]> =>
    keptReader((files) => createTaskReader(place, { ...reading[part], files, ...(cache && { cache }) }));
  const readers: Readonly<Record<Selection['part'], KeptReader<readonly IndexedFile[]>>> = {
    train: readerOf('train'),
    test: readerOf('test'),
  };
  const parsing = new Set<Promise<void>>();

  async function parse(id: number, { part, files, chunks }: WantedTask): Promise<void> {
    try {
      const { block } = await readers[part].use(files, (reader) => reader.parse(chunks));
      assert(block !== undefined, 'tasks of this format are parsed as blocks');
      port.post({ kind: 'parsed', id, block }, memoryOf(block));
    } catch (error) {
      port.post({ kind: 'failed', id, error: sentError(error) });
    }
  }

  async function close(id: number): Promise<void> {
    try {
      await Promise.all(parsing);
      await Promise.all([readers.train.close(), readers.test.close()]);
      port.post({ kind: 'closed', id });
    } catch (error) {
      port.post({ kind: 'failed', id, error: sentError(error) });
    }
  }

  port.onMessage((message) => {
    if (message.kind === 'close') void close(message.id);
    else if (message.kind === 'free') message.memory.forEach(giveBack);
    else {
      const parsed = parse(message.id, message.task);
      parsing.add(parsed);
      void parsed.then(() => parsing.delete(parsed));
    }
  });
}

function logOf(port: ReaderPort): Log {
  const at =
    (level: LogLevel): Log[LogLevel] =>
    (message, facts) =>
      port.post({ kind: 'logged', level, message, facts });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
