import { Chalk, type ChalkInstance } from 'chalk';
import type { Log, LogLevel } from '../base/seams.ts';
import { visible } from '../base/visible.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[];

/** The process that logs. */
export interface LogIdentity {
  /** The name of the command, for a command that is not a role. */
  role: string;
  /** Index of a pserver; absent until the pserver has one. */
  index?: number;
  /** Id of a trainer. */
  id?: string;
  /** Once it is known. */
  job?: string;
  readonly host: string;
  readonly pid: number;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** `text`: for people; `json`: one object per line. */
  readonly format: 'text' | 'json';
  /** Read for each line: what becomes known of it is in all lines from then on. */
  readonly identity?: LogIdentity;
  /** Takes one line without its end. */
  readonly write: (line: string) => void;
  /** Seconds since 1970. */
  readonly wallSeconds: () => number;
  readonly color: boolean;
  /** For a terminal: the local time of day, and neither who logs nor a level that is not worth a word. */
  readonly isShort?: boolean;
}

/**
 * One line per event. Facts follow the message as `key=value`; an error is shown by its message, a bug with its stack.
 * The job, the host and the pid come last: they are the same in most lines.
 */
export function createLog(options: LogOptions): Log {
  const threshold = LOG_LEVELS.indexOf(options.level);
  const format = options.format === 'json' ? jsonLine : textLine;
  const at =
    (level: LogLevel) =>
    (message: string, facts: Record<string, unknown> = {}): void => {
      if (LOG_LEVELS.indexOf(level) >= threshold) options.write(format(options, level, message, facts));
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function timeOf(options: LogOptions): string {
  return new Date(options.wallSeconds() * 1000).toISOString();
}

function jsonLine(options: LogOptions, level: LogLevel, message: string, facts: Record<string, unknown>): string {
  // Facts first: none of them can replace the time, the level, the message, or who logs.
  return JSON.stringify({ ...facts, time: timeOf(options), level, ...options.identity, message }, plain);
}

function textLine(options: LogOptions, level: LogLevel, message: string, facts: Record<string, unknown>): string {
  const paint = new Chalk({ level: options.color ? 1 : 0 });
  const isShort = options.isShort === true;
  const levelPaint = { debug: paint.dim, info: paint.cyan, warn: paint.yellow, error: paint.red }[level];
  const parts = [paint.dim(isShort ? timeOfDay(options.wallSeconds()) : timeOf(options))];
  if (!isShort || level !== 'info') parts.push(levelPaint(level.padEnd(5)));
  const { identity } = options;
  if (identity !== undefined && !isShort) parts.push(paint.bold(nameOf(identity)));
  parts.push(entryText(message, facts, paint));
  if (identity !== undefined && !isShort) {
    const { job, host, pid } = identity;
    parts.push(...factsText({ job, host, pid }, paint));
  }
  return parts.join(' ');
}

/** The text of an entry without the time, the level, and who logs. */
export const entryText = (message: string, facts: Record<string, unknown> = {}, paint = PLAIN): string =>
  [visible(message), ...factsText(facts, paint)].join(' ');

const PLAIN = new Chalk({ level: 0 });

/** `pserver 0`, `trainer 5a8f6e0e`. */
function nameOf({ role, index, id }: LogIdentity): string {
  const which = index ?? id?.slice(0, ID_CHARACTERS);
  return which === undefined ? role : `${role} ${which}`;
}

/** Length of trainer ids, as `status` shows them. */
const ID_CHARACTERS = 8;

const factsText = (facts: Record<string, unknown>, paint: ChalkInstance): string[] =>
  Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${paint.dim(`${key}=`)}${visible(factText(value))}`);

/** `18:01:50`, where this process is. */
function timeOfDay(wallSeconds: number): string {
  const at = new Date(1000 * wallSeconds);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

/** What the log of a file is on a terminal: of the process that is called `name` in it. */
export function asShort(text: string, name: string): string {
  const entry = new RegExp(
    `^(\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z) (\\w+) +${name} (.*?)(?:(?: job=\\S+)? host=\\S+ pid=\\d+)?$`,
    'gm',
  );
  return text.replace(entry, (_, time: string, level: string, said: string) => {
    return `${timeOfDay(Date.parse(time) / 1000)} ${level === 'info' ? '' : `${level.padEnd(5)} `}${said}`;
  });
}

function factText(value: unknown): string {
  if (typeof value === 'string') return /^[\w./:@%+,-]+$/.test(value) ? value : JSON.stringify(value);
  if (value instanceof Error) return JSON.stringify(errorText(value));
  return JSON.stringify(value, plain) ?? 'undefined';
}

/** An expected error is its message; a bug needs its stack. */
function errorText(error: Error): string {
  return error.name === 'PaddletError' ? error.message : (error.stack ?? error.message);
}

/** JSON has no bigint and shows errors as `{}`. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Error) {
    const code = (value as { code?: unknown }).code;
    return { ...(code === undefined ? {} : { code }), message: errorText(value) };
  }
  return value;
}

/** Logs everything to both. */
export function teeLog(one: Log, other: Log): Log {
  const at =
    (level: LogLevel) =>
    (message: string, facts?: Record<string, unknown>): void => {
      one[level](message, facts);
      other[level](message, facts);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
