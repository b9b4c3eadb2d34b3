/** One check of `paddlet doctor`. */
import { type ExitCode, isPaddletError, PaddletError } from '../../base/errors.ts';
import { fromSystem } from '../base/machine-errors.ts';

export interface Finding {
  readonly status: 'ok' | 'warn';
  readonly detail: string;
  readonly hint?: string;
}

export interface Check {
  readonly name: string;
  /** Skipped when this other check failed. */
  readonly after?: string;
  /** Throws when the check fails: a PaddletError, or a Node error that has a code. Any other error is a bug. */
  readonly run: () => Promise<Finding>;
}

export interface CheckResult {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  readonly hint?: string;
  readonly exit: ExitCode;
}

export async function runCheck({ name, run }: Check): Promise<CheckResult> {
  try {
    return { name, exit: 0, ...(await run()) };
  } catch (error) {
    const expected = asExpected(error);
    if (expected === undefined) throw error;
    const { message, hint, exitCode } = expected;
    return { name, status: 'fail', detail: message, ...(hint === undefined ? {} : { hint }), exit: exitCode };
  }
}

/** A system error (EACCES, ENOSPC, …) is a failed check, not a bug. */
function asExpected(error: unknown): PaddletError | undefined {
  const known = fromSystem(error);
  if (isPaddletError(known)) return known;
  const { code, message } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? new PaddletError('Usage', message, { cause: error }) : undefined;
}
