/** Log files as entries in the order of time. */
import type { Disk, LogLevel } from '../../base/seams.ts';
import { LOG_LEVELS } from '../../host/log.ts';
import { GrowingText } from '../base/growing-text.ts';

export interface LogRecord {
  /** Of the log: `pserver-0`. */
  readonly name: string;
  readonly timeMs: number;
  /** Undefined for text before the first entry. */
  readonly level: LogLevel | undefined;
  /** Without the end of its last line; a stack has several. */
  readonly text: string;
}

/** What each entry begins with (src/host/log.ts). */
const BEGIN = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (debug|info|warn|error) /;

/** One log file. Lines that do not begin with a time belong to the entry before. */
export class LogReader {
  readonly #name: string;
  readonly #growing: GrowingText;
  /** Of a line whose end is not written yet. */
  #rest = '';
  #lastMs = 0;

  constructor(disk: Disk, name: string, path: string) {
    this.#name = name;
    this.#growing = new GrowingText(disk, path, 0);
  }

  /** Those that were added since the last call. */
  async *records(): AsyncGenerator<LogRecord> {
    let entry: { timeMs: number; level: LogLevel | undefined; lines: string[] } | undefined;
    const close = (): LogRecord[] => {
      if (entry === undefined) return [];
      const { timeMs, level, lines } = entry;
      return [{ name: this.#name, timeMs, level, text: lines.join('\n') }];
    };
    for (let text = await this.#growing.next(); text !== ''; text = await this.#growing.next()) {
      const lines = `${this.#rest}${text}`.split('\n');
      this.#rest = lines.pop()!;
      for (const line of lines) {
        const begin = BEGIN.exec(line);
        if (begin === null && entry !== undefined) {
          entry.lines.push(line);
          continue;
        }
        yield* close();
        if (begin !== null) this.#lastMs = Date.parse(begin[1]!);
        entry = { timeMs: this.#lastMs, level: begin?.[2] as LogLevel | undefined, lines: [line] };
      }
    }
    yield* close();
  }
}

export const isOfLevel = ({ level }: LogRecord, lowest: LogLevel | undefined): boolean =>
  lowest === undefined || (level !== undefined && LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(lowest));

/** All of them, in the order of time; each is in that order itself. */
export async function* merged(sources: readonly AsyncGenerator<LogRecord>[]): AsyncGenerator<LogRecord> {
  const heads = await Promise.all(sources.map(async (source) => ({ source, next: await source.next() })));
  for (;;) {
    const open = heads.filter(({ next }) => next.done !== true);
    if (open.length === 0) return;
    const first = open.reduce((a, b) => (timeOf(b.next) < timeOf(a.next) ? b : a));
    yield first.next.value as LogRecord;
    first.next = await first.source.next();
  }
}

const timeOf = ({ value }: IteratorResult<LogRecord>): number => (value as LogRecord).timeMs;
