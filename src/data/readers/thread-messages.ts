/** What a process and the threads that read its tasks tell each other. */
import type { LogLevel } from '../../base/seams.ts';
import type { SentError } from '../../base/sent-error.ts';
import type { ParsedBlock } from '../parsed/block.ts';
import type { ParsedCacheOptions } from '../parsed/cache.ts';
import type { DataPlace } from '../place.ts';
import type { Selection } from '../selection.ts';
import type { Chunk, IndexedFile } from '../source.ts';
import type { TaskReaderOptions } from '../task-reader.ts';

/** How the tasks of a data set are read, whatever their files. */
export type TaskReading = Omit<TaskReaderOptions, 'files' | 'cache' | 'times' | 'elsewhere'>;

/** What a thread has to know before it reads. */
export interface ReaderThreadData {
  readonly place: Omit<DataPlace, 'host'>;
  readonly reading: Readonly<Record<Selection['part'], TaskReading>>;
  /** Undefined: tasks are not kept. */
  readonly cache: ParsedCacheOptions | undefined;
}

export interface WantedTask {
  readonly part: Selection['part'];
  readonly files: readonly IndexedFile[];
  readonly chunks: readonly Chunk[];
}

export type ToReaderThread =
  | { readonly kind: 'parse'; readonly id: number; readonly task: WantedTask }
  /** The memory of a finished task, which came from this thread. */
  | { readonly kind: 'free'; readonly memory: readonly ArrayBuffer[] }
  /** The last message: what was parsed is still written to the cache. */
  | { readonly kind: 'close'; readonly id: number };

export type FromReaderThread =
  | { readonly kind: 'parsed'; readonly id: number; readonly block: ParsedBlock }
  | { readonly kind: 'failed'; readonly id: number; readonly error: SentError }
  | {
      readonly kind: 'logged';
      readonly level: LogLevel;
      readonly message: string;
      readonly facts: Record<string, unknown> | undefined;
    }
  | { readonly kind: 'closed'; readonly id: number };
