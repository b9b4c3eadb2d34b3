import { Args, Flags } from '@oclif/core';
import { pause } from '../../base/backoff.ts';
import { EXIT, type ExitCode, PaddletError } from '../../base/errors.ts';
import type { Host, LogLevel } from '../../base/seams.ts';
import { isFolderLocked } from '../../host/folder-lock.ts';
import { onlyJobFolder } from '../base/find-store.ts';
import { logLevelFlag } from '../base/flags.ts';
import { localFolder } from '../base/folder-flag.ts';
import { lastOf } from '../base/growing-text.ts';
import { LOG_WORD, logFile, logFolder, logNames } from '../base/job-logs.ts';
import { readerGone } from '../base/live-view.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { PaddletCommand } from '../base-command.ts';
import { isOfLevel, LogReader, type LogRecord, merged } from './log-records.ts';

/** How often files are looked at with --follow. */
const LOOK_MS = 300;
const DEFAULT_LINES = 100;

/** In place of the global flag, whose type it has: an intersection of both types would be `unknown`. */
const LEVEL = { 'log-level': logLevelFlag('debug', { description: 'Minimum level of the log entries to show.' }) };

export default class LogsCommand extends PaddletCommand<typeof LogsCommand> {
  static override summary = 'Show the logs of a job that `paddlet run` started on this machine';
  static override description =
    `Prints the log files that \`paddlet run\` keeps in the folder of the job, merged in chronological order. With
--follow, also prints new entries until the run ends. The command does not show the logs of roles that you start
yourself: these roles log to their own stderr.`;
  static override examples = [
    {
      command: '<%= config.bin %> logs clicks -f',
      description: 'Follow the logs of all processes of the job `clicks`.',
    },
    {
      command: '<%= config.bin %> logs clicks trainer 1 --lines all',
      description: 'Show all log entries of trainer 1.',
    },
    { command: '<%= config.bin %> logs clicks pserver', description: 'Show the last log entries of all pservers.' },
    { command: '<%= config.bin %> logs clicks --log-level warn', description: 'Show only warnings and errors.' },
  ];
  static override args = {
    ...jobArg,
    role: Args.string({ description: 'Role whose logs to show: run, master, pserver or trainer. Default: all.' }),
    number: Args.string({ description: 'Index of the pserver or trainer. Default: all.' }),
  };
  static override flags = {
    dir: Flags.string({
      helpValue: 'FOLDER',
      parse: localFolder,
      description: 'Folder of the job. Default: the only folder in ./.paddlet that contains logs.',
    }),
    follow: Flags.boolean({ char: 'f', description: 'Also print new entries until the run ends.' }),
    lines: Flags.string({
      char: 'n',
      helpValue: 'NUMBER',
      default: String(DEFAULT_LINES),
      parse: async (text) => {
        linesOf(text);
        return text;
      },
      description: 'Number of past entries to show, from all logs together; `all` shows every entry.',
    }),
    ...(LEVEL as object),
  };

  override async execute(): Promise<ExitCode> {
    const { job, ...wanted } = wantedOf(this.args);
    const flags = namedJob(job, this.flags, this.typed, { isJob: hasLogs });
    const folder = flags.dir ?? onlyJobFolder(flags, hasLogs, 'job with logs');
    const host = this.host('logs');
    const logs = new Logs({
      host,
      folder,
      level: flags['log-level'] === 'debug' ? undefined : flags['log-level'],
      most: linesOf(flags.lines),
    });
    const names = namesIn(folder, wanted);
    const width = names.length > 1 ? Math.max(...names.map(({ length }) => length)) : 0;
    const show = ({ name, text }: LogRecord): void => {
      if (flags.json) this.output({ log: name, text }, () => '');
      else this.say(width === 0 ? text : text.replace(/^/gm, `${name.padEnd(width)}  `));
    };
    const gone = readerGone();
    const signal = AbortSignal.any([this.interruption(), gone]);
    for await (const record of logs.past(names)) {
      if (signal.aborted) break;
      show(record);
    }
    for (;;) {
      if (signal.aborted) return gone.aborted ? EXIT.done : EXIT.interrupted;
      // Asked before the logs are read: what is logged at the end is shown, too.
      const isOver = !flags.follow || !isFolderLocked(folder);
      for (const record of await logs.more(flags.follow ? namesIn(folder, wanted) : [], isOver)) show(record);
      if (isOver) return EXIT.done;
      await pause(host.clock, LOOK_MS, signal);
    }
  }
}

interface LogsOptions {
  readonly host: Host;
  readonly folder: string;
  readonly level: LogLevel | undefined;
  /** Entries of the past. */
  readonly most: number;
}

/** The end of a large file is enough for entries of this size; entries of one level may be anywhere. */
const ENTRY_BYTES = 1_000;
const LEAST_BYTES = 64 * 1024;

class Logs {
  readonly #options: LogsOptions;
  readonly #readers = new Map<string, LogReader>();

  constructor(options: LogsOptions) {
    this.#options = options;
  }

  /** The last ones of all of them together. */
  async *past(names: readonly string[]): AsyncGenerator<LogRecord> {
    const { level, most } = this.#options;
    const readers = await Promise.all(names.map((name) => this.#reader(name)));
    const kept: LogRecord[] = [];
    for await (const record of merged(readers.map((reader) => reader.records()))) {
      if (!isOfLevel(record, level)) continue;
      if (most === Number.POSITIVE_INFINITY) yield record;
      else kept.push(record);
      // In large steps: each costs as much as the list is long.
      if (kept.length > 2 * most + 1_000) kept.splice(0, kept.length - most);
    }
    if (most > 0) yield* kept.slice(-most);
  }

  /** The entries added since; when the job is over, including the last entry, which will not be completed. */
  async more(names: readonly string[], isOver: boolean): Promise<LogRecord[]> {
    const added: LogRecord[] = [];
    for (const name of names) {
      for await (const record of (await this.#reader(name)).records()) added.push(record);
    }
    if (isOver) for (const reader of this.#readers.values()) added.push(...reader.rest());
    return added.filter((record) => isOfLevel(record, this.#options.level)).sort((a, b) => a.timeMs - b.timeMs);
  }

  async #reader(name: string): Promise<LogReader> {
    const { host, folder, level, most } = this.#options;
    let reader = this.#readers.get(name);
    if (reader === undefined) {
      const path = logFile(folder, name);
      const isWhole = level !== undefined || most === Number.POSITIVE_INFINITY;
      const from = isWhole ? undefined : await lastOf(host.disk, path, LEAST_BYTES + most * ENTRY_BYTES);
      reader = new LogReader(host.disk, name, { path, from });
      this.#readers.set(name, reader);
    }
    return reader;
  }
}

/** Wherever the store of the job is. */
const hasLogs = (folder: string): boolean => logNames(folder).length > 0;

function linesOf(text: string): number {
  if (text === 'all') return Number.POSITIVE_INFINITY;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new PaddletError('Usage', `--lines ${text}: expected a number, or all`);
}

interface Wanted {
  readonly role?: string | undefined;
  readonly number?: number | undefined;
}

type Words = { readonly [name in 'job' | 'role' | 'number']?: string | undefined };

/** The first word is a job, unless it is a role: `trainer 1`. */
function wantedOf({ job, role, number }: Words): Wanted & { readonly job: string | undefined } {
  const isRole = job !== undefined && LOG_WORD.test(job);
  const [which, count, more] = isRole ? [job, role, number] : [role, number];
  if (more !== undefined) throw new PaddletError('Usage', `unexpected argument: ${more}`, { hint: ORDER });
  if (count === undefined) return { job: isRole ? undefined : job, role: which };
  if (!/^\d{1,9}$/.test(count)) {
    throw new PaddletError('Usage', `expected the number of a ${which}, got ${count}`, { hint: ORDER });
  }
  return { job: isRole ? undefined : job, role: which, number: Number(count) };
}

const ORDER = 'the order is `paddlet logs [JOB] [ROLE] [NUMBER]`';

/** Throws `JobUnknown` when there is no such log. */
function namesIn(folder: string, { role, number }: Wanted): string[] {
  const all = logNames(folder);
  if (all.length === 0) {
    throw new PaddletError('JobUnknown', `no logs in ${logFolder(folder)}`, {
      hint: '`paddlet run` keeps logs; roles that are started by hand log to their own stderr',
    });
  }
  if (role === undefined) return all;
  const wanted = number === undefined ? role : `${role}-${number}`;
  const found = all.filter((name) => name === wanted || name.replace(/-\d+$/, '') === wanted);
  if (found.length > 0) return found;
  throw new PaddletError('Usage', `no log of ${wanted.replace('-', ' ')} in ${logFolder(folder)}`, {
    hint: `there are logs of ${all.map((name) => name.replace('-', ' ')).join(', ')}`,
  });
}
