/** Errors as people and scripts see them. */
import { Chalk } from 'chalk';
import { type ErrorCode, EXIT, type ExitCode, PaddletError } from '../../base/errors.ts';
import { visibleLines } from '../../base/visible.ts';

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
    readonly code: ErrorCode | 'Bug';
    readonly message: string;
    readonly hint?: string;
    readonly exit: ExitCode;
    readonly details?: PaddletError['details'];
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
