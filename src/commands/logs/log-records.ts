/** Log files as entries in the order of time. */

import { parsedJson } from '../../base/parsed-json.ts';
import type { Disk, LogLevel } from '../../base/seams.ts';
import { LOG_LEVELS } from '../../host/log.ts';
import { GrowingText, type LogPlace } from '../base/growing-text.ts';

export interface LogRecord {
  /** Name of the log, such as `pserver-0`. */
  readonly name: string;
  readonly timeMs: number;
  /** Undefined for text before the first entry. */
  readonly level: LogLevel | undefined;
  /** Without the end of its last line; a stack has several. */
  readonly text: string;
}

export interface LogSource {
  readonly path: string;
  /** Where to begin; with the oldest entry without it. */
  readonly from?: LogPlace | undefined;
}

/** Maximum lines of an entry, including the lines that follow its first. */
const MOST_LINES = 1_000;

/** One log, whose older entries are in separate files. Lines that do not begin an entry belong to the one before. */
export class LogReader {
  readonly #name: string;
  readonly #growing: GrowingText;
  /** The start of a line whose end is not written yet. */
  #rest = '';
  /** It began in the middle of a line. */
  #isCut: boolean;
  #lastMs = 0;
  #lastLevel: LogLevel | undefined;

  constructor(disk: Disk, name: string, { path, from }: LogSource) {
    this.#name = name;
    this.#growing = new GrowingText(disk, path, from);
    this.#isCut = from !== undefined && from.offset > 0;
  }

  /** Entries that were added since the last call. */
  async *records(): AsyncGenerator<LogRecord> {
    let lines: string[] = [];
    const closed = (): LogRecord[] => (lines.length === 0 ? [] : [this.#record(lines.join('\n'))]);
    for (let text = await this.#growing.next(); text !== ''; text = await this.#growing.next()) {
      const all = `${this.#rest}${text}`.split('\n');
      this.#rest = all.pop()!;
      for (const line of this.#isCut ? all.slice(1) : all) {
        const begin = beginOf(line);
        if (begin === undefined && lines.length > 0 && lines.length < MOST_LINES) {
          lines.push(line);
          continue;
        }
        yield* closed();
        lines = [line];
        if (begin !== undefined) ({ timeMs: this.#lastMs, level: this.#lastLevel } = begin);
      }
      if (all.length > 0) this.#isCut = false;
    }
    yield* closed();
  }

  /** A last line whose end was never written: its process was killed, or the disk is full. */
  rest(): LogRecord[] {
    const text = this.#rest;
    this.#rest = '';
    return text === '' ? [] : [this.#record(text)];
  }

  #record(text: string): LogRecord {
    return { name: this.#name, timeMs: this.#lastMs, level: this.#lastLevel, text };
  }
}

/** What each entry begins with, as text and as JSON (src/host/log.ts). */
const BEGIN = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (\w+) /;

interface Begin {
  readonly timeMs: number;
  readonly level: LogLevel;
}

function beginOf(line: string): Begin | undefined {
  if (line.startsWith('{')) {
    const { time, level } = (parsedJson(line) ?? {}) as { readonly time?: unknown; readonly level?: unknown };
    return asBegin(time, level);
  }
  const begin = BEGIN.exec(line);
  return begin === null ? undefined : asBegin(begin[1], begin[2]);
}

function asBegin(time: unknown, named: unknown): Begin | undefined {
  const level = LOG_LEVELS.find((one) => one === named);
  const timeMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return level === undefined || Number.isNaN(timeMs) ? undefined : { timeMs, level };
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
