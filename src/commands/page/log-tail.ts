/** The last lines of the logs of a job, for the page. */
import { parsedJson } from '../../base/parsed-json.ts';
import type { Disk } from '../../base/seams.ts';
import type { PageLogLine } from '../../page/page-data.ts';
import { lastOf } from '../base/growing-text.ts';
import { logFile, logNames } from '../base/job-logs.ts';
import { LogReader } from '../logs/log-records.ts';

const LINES = 60;
const LINE_CHARACTERS = 500;
/** Bytes that are read of each log at first. */
const TAIL_BYTES = 16 * 1024;

export class LogTail {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #readers = new Map<string, LogReader>();
  #lines: PageLogLine[] = [];

  /** `folder` of the job; it need not have logs. */
  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
  }

  /** Oldest first, with those that were added since the last call. */
  async lines(): Promise<readonly PageLogLine[]> {
    const added: PageLogLine[] = [];
    for (const name of logNames(this.#folder)) {
      for await (const { timeMs, level, text } of (await this.#reader(name)).records()) {
        // What comes before the first entry is the end of one that is not shown.
        if (level !== undefined) added.push({ log: name, time: timeMs / 1000, level, text: messageOf(text) });
        if (added.length > MANY) added.splice(0, added.length, ...newest(added));
      }
    }
    this.#lines = newest([...this.#lines, ...added]);
    return this.#lines;
  }

  async #reader(name: string): Promise<LogReader> {
    let reader = this.#readers.get(name);
    if (reader === undefined) {
      const path = logFile(this.#folder, name);
      reader = new LogReader(this.#disk, name, { path, from: await lastOf(this.#disk, path, TAIL_BYTES) });
      this.#readers.set(name, reader);
    }
    return reader;
  }
}

/** As many are gathered until all but the newest are dropped. */
const MANY = 10_000;

const newest = (lines: readonly PageLogLine[]): PageLogLine[] =>
  [...lines].sort((a, b) => a.time - b.time).slice(-LINES);

const HEAD = /^\d{4}-\S+Z \w+ +(?:(?:run|master|pserver(?: \d+)?|trainer(?: [0-9a-f]+)?) )?/;
const TAIL = /(?: job=\S+)? host=\S+ pid=\d+$/m;

/** Without the time, the level and who logs (src/host/log.ts): the page shows them in separate columns. */
function messageOf(text: string): string {
  const { message = undefined } = text.startsWith('{') ? ((parsedJson(text) ?? {}) as { message?: unknown }) : {};
  const said = typeof message === 'string' ? message : text.replace(HEAD, '').replace(TAIL, '');
  return said.length <= LINE_CHARACTERS ? said : `${said.slice(0, LINE_CHARACTERS - 1)}…`;
}
