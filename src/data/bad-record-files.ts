/**
 * Bad records of a job, listed in files of one folder: a file for each task that has some. Its content depends on the
 * data alone, so it does not matter which trainer writes it, in which pass, or how often; files of several machines can
 * be put into one folder. It never fails a task: what cannot be written is not listed.
 */
import { join } from 'node:path';
import { LIMITS } from '../base/limits.ts';
import type { Host } from '../base/seams.ts';
import type { BadRecord } from './bad-record.ts';
import { describeBad } from './bad-records.ts';
import { writeWhole } from './whole-file.ts';

/** Which files the records are from: the training files, the test files, or other files that are scored. */
export type BadRecordsSet = 'train' | 'test' | 'evaluate';

/** The folder of bad records, in the folder of the job. */
export const badRecordFolder = (jobFolder: string): string => join(jobFolder, 'bad-records');

/** Also those that a killed process left unfinished. */
export const BAD_RECORD_FILE = /^(?:\.?(?:train|test|evaluate)-\d+-[0-9a-f]{8}\.jsonl)(?:\.[0-9a-f-]{36}\.partial)?$/;

/** The files of another job of the same name, or of other data, are other files. */
const TAG_DIGITS = 8;

export interface FoundBadRecords {
  readonly set: BadRecordsSet;
  readonly task: number;
  readonly bad: readonly BadRecord[];
}

export class BadRecordFiles {
  /** Undefined where none is listed. */
  readonly #folder: string | undefined;
  /** End of the names of its files. */
  readonly #end: string;
  readonly #host: Pick<Host, 'disk' | 'random' | 'log'>;
  /** Names of files of this process. */
  readonly #seen = new Set<string>();
  #logged = 0;
  #canList = true;

  /** `jobFolder`: without it bad records are only logged. `id`: hexadecimal, of the job or of the data. */
  constructor(host: Pick<Host, 'disk' | 'random' | 'log'>, jobFolder: string | undefined, id: string) {
    this.#host = host;
    this.#folder = jobFolder === undefined ? undefined : badRecordFolder(jobFolder);
    this.#end = `-${id.slice(0, TAG_DIGITS)}.jsonl`;
  }

  /** Lists the bad records of a task, and logs the first ones that this process finds. */
  async list(found: FoundBadRecords): Promise<void> {
    const name = `${found.set}-${found.task}${this.#end}`;
    const isOver = (!this.#canList || this.#folder === undefined) && this.#logged >= LIMITS.loggedBadRecords;
    if (found.bad.length === 0 || isOver || this.#seen.has(name)) return;
    this.#seen.add(name);
    this.#show(found.bad);
    if (!this.#canList || this.#folder === undefined) return;
    try {
      await this.#keep(this.#folder, name, found);
    } catch (error) {
      this.#stop(`paddlet stops listing bad records: ${(error as Error).message}`);
    }
  }

  #show(bad: readonly BadRecord[]): void {
    const shown = bad.slice(0, LIMITS.loggedBadRecords - this.#logged);
    for (const record of shown) this.#host.log.warn(`bad record: ${describeBad(record)}`);
    this.#logged += shown.length;
  }

  async #keep(folder: string, name: string, found: FoundBadRecords): Promise<void> {
    const { disk, log } = this.#host;
    await disk.makeFolder(folder);
    const names = (await disk.list(folder)).filter((one) => one.endsWith(this.#end));
    if (names.includes(name)) return;
    if (names.length >= LIMITS.badRecordFiles) {
      this.#stop(`${folder} has ${names.length} files: paddlet does not list bad records of more tasks`);
      return;
    }
    // Under its name a file is whole, even if others write it too.
    await writeWhole(this.#host, join(folder, name), (append) => append(Buffer.from(linesOf(found))));
    if (names.length === 0) log.warn(`bad records are listed in ${folder}`);
  }

  #stop(why: string): void {
    if (this.#canList) this.#host.log.warn(why);
    this.#canList = false;
  }
}

/** A JSON object a line; of more than are listed the last one says how many. */
function linesOf({ set, bad }: FoundBadRecords): string {
  const listed: object[] = bad
    .slice(0, LIMITS.listedBadRecords)
    .map(({ text, ...record }) => ({ ...record, ...(text === undefined ? {} : { text: decoded(text) }), set }));
  if (bad.length > listed.length) listed.push({ more: bad.length - listed.length, set });
  return listed.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Records have their bytes as Latin-1. */
const decoded = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');
