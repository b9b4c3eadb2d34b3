/** One thing that `paddlet doctor` looks at. */
import { type ExitCode, isPaddletError, PaddletError } from '../../base/errors.ts';

export interface Finding {
  readonly status: 'ok' | 'warn';
  readonly detail: string;
  readonly hint?: string;
}

export interface Check {
  readonly name: string;
  /** Left out when this other check failed. */
  readonly after?: string;
  /** Throws what is wrong: a PaddletError, or an error of Node that has a code. Anything else is a bug. */
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

/** A refusal of the machine (EACCES, ENOSPC, …) is what doctor is for. */
function asExpected(error: unknown): PaddletError | undefined {
  if (isPaddletError(error)) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? new PaddletError('Usage', message, { cause: error }) : undefined;
}
