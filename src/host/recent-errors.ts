/** The last warnings and errors of a process, for all who ask it; what died has them in its log. */
import { LIMITS } from '../base/limits.ts';
import type { Log, LoggedError } from '../base/seams.ts';
import { entryText } from './log.ts';

export interface KeptErrors {
  /** Keeps what it logs. */
  readonly log: Log;
  /** The oldest first. */
  readonly recent: () => readonly LoggedError[];
}

export function keepErrors(log: Log, wallSeconds: () => number): KeptErrors {
  const kept: LoggedError[] = [];
  const keeping =
    (level: LoggedError['level']) =>
    (message: string, facts?: Record<string, unknown>): void => {
      log[level](message, facts);
      kept.push({ time: wallSeconds(), level, text: bounded(entryText(message, facts)) });
      if (kept.length > LIMITS.toldErrors) kept.shift();
    };
  return { log: { ...log, warn: keeping('warn'), error: keeping('error') }, recent: () => [...kept] };
}

function bounded(text: string): string {
  if (text.length <= LIMITS.toldErrorCharacters) return text;
  // A character of two units may be cut.
  return `${text.slice(0, LIMITS.toldErrorCharacters - 1).toWellFormed()}…`;
}
