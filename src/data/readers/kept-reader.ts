/** Keeps the reader of the last task open: mostly the next task is of the same files. */
import type { TaskReader } from '../task-reader.ts';

/** `F` describes the files of a task; equal descriptions are of the same files. */
export interface KeptReader<F> {
  /** Calls may overlap. Throws as `run` does; the next call for these files opens them again. */
  use<T>(files: F, run: (reader: TaskReader) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface OpenReader {
  readonly key: string;
  readonly reader: TaskReader;
  uses: number;
}

export function keptReader<F>(open: (files: F) => TaskReader): KeptReader<F> {
  /** Stays open; others are closed when their last use has ended. */
  let kept: OpenReader | undefined;

  function readerOf(files: F): OpenReader {
    const key = JSON.stringify(files);
    return kept?.key === key ? kept : { key, reader: open(files), uses: 0 };
  }

  async function keep(next: OpenReader | undefined): Promise<void> {
    const before = kept;
    kept = next;
    if (before !== undefined && before !== next && before.uses === 0) await before.reader.close();
  }

  return {
    async use(files, run) {
      const opened = readerOf(files);
      opened.uses += 1;
      await keep(opened);
      try {
        return await run(opened.reader);
      } catch (error) {
        // The open file may have been replaced under its name: open it again next time.
        if (kept === opened) kept = undefined;
        throw error;
      } finally {
        opened.uses -= 1;
        if (opened !== kept && opened.uses === 0) await opened.reader.close();
      }
    },
    close: () => keep(undefined),
  };
}
