/** Errors as people and scripts see them. */
import { Errors, type Interfaces } from '@oclif/core';
import { Chalk } from 'chalk';
import { EXIT, type ExitCode, PaddletError } from '../../base/errors.ts';
import { visibleLines } from '../../base/visible.ts';
import { nearest } from '../../job/complaints.ts';

/** Turns oclif's usage errors into ours; leaves every other error as it is. */
export function fromOclif(error: unknown, commandId: string): unknown {
  // An error that one of our own flag parsers threw, with text of oclif around it.
  const wrapped =
    error instanceof PaddletError ? /^Parsing (--\S+)\s+([\s\S]*?)\s*\nSee more help/.exec(error.message) : null;
  if (wrapped !== null && error instanceof PaddletError)
    return new PaddletError(error.code, `${wrapped[1]}: ${wrapped[2]}`, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      cause: error,
    });
  if (!(error instanceof Errors.CLIError)) return error;
  const hint = `run \`paddlet ${commandId.replaceAll(':', ' ')} --help\` to see its flags`;
  // Drops oclif's advice after the message; the hint replaces it.
  const [message] = error.message.split(/\n(?:See more help|\nNote:)/);
  return new PaddletError('Usage', sentence(message ?? error.message), {
    hint: meantFlag(error) ?? hint,
    cause: error,
  });
}

/** Oclif's parse errors carry what was parsed; `flags` of an unknown-flag error are the unknown ones. */
function meantFlag(error: object): string | undefined {
  const { flags, parse } = error as {
    flags?: unknown;
    parse?: { input?: { flags?: Interfaces.FlagInput } };
  };
  const unknown = Array.isArray(flags) ? String(flags[0]) : undefined;
  const known = Object.keys(parse?.input?.flags ?? {});
  if (unknown === undefined) return undefined;
  const near = nearest(unknown.replace(/^--?/, '').split('=')[0] ?? '', known);
  return near === undefined ? undefined : `did you mean --${near}?`;
}

function sentence(text: string): string {
  const line = text
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll(/ {2,}/g, ': ')
    .trim();
  return line.charAt(0).toLowerCase() + line.slice(1);
}

export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof PaddletError ? error.exitCode : EXIT.bug;
}

/** `error <code>: message`, and a hint below it. A bug shows its stack, for the report. */
export function errorText(error: unknown, color: boolean): string {
  const paint = new Chalk({ level: color ? 1 : 0 });
  if (error instanceof PaddletError) {
    const head = `${paint.red.bold('error')} ${paint.red(error.code)}: ${visibleLines(error.message)}`;
    return error.hint === undefined ? head : `${head}\n${paint.cyan('hint')}: ${visibleLines(error.hint)}`;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${paint.red.bold('bug')}: ${visibleLines(stack)}\n${paint.cyan('hint')}: this is a bug in paddlet; please report it with the lines above`;
}

export interface ErrorJson {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly hint?: string;
    readonly exit: ExitCode;
    readonly details?: object;
  };
}

export function errorJson(error: unknown): ErrorJson {
  const exit = exitCodeOf(error);
  if (error instanceof PaddletError) {
    const { code, message, hint, details } = error;
    const more = Object.keys(details).length === 0 ? {} : { details };
    return { error: { code, message, ...(hint === undefined ? {} : { hint }), exit, ...more } };
  }
  return { error: { code: 'Bug', message: error instanceof Error ? error.message : String(error), exit } };
}
