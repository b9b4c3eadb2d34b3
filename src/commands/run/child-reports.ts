/** Shows what the processes of a run report: their warnings and errors, and keeps why each of them ended. */
import { isErrorCode, isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Clock, Log } from '../../base/seams.ts';
import type { Report } from '../../host/reports.ts';
import { fromSystem } from '../base/machine-errors.ts';

/** All processes notice the same trouble, and repeat it: each text is shown once in this time. */
const SAME_TEXT_MS = 10_000;
/** Reports beyond this number in that time are only in the logs. */
const SHOWN_AT_ONCE = 20;

export class ChildReports {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #failures = new Map<string, Report>();
  readonly #shown = new Map<string, number>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  take(name: string, report: Report): void {
    if (report.code !== undefined) this.#failures.set(name, report);
    if (report.code === 'Interrupted') return;
    const nowMs = this.#clock.monotonicMs();
    for (const [text, atMs] of this.#shown) if (nowMs - atMs >= SAME_TEXT_MS) this.#shown.delete(text);
    if (this.#shown.has(report.message) || this.#shown.size >= SHOWN_AT_ONCE) return;
    this.#shown.set(report.message, nowMs);
    const code = report.code === undefined ? '' : `${report.code}: `;
    this.#log[report.level](
      `${name}: ${code}${report.message}`,
      report.hint === undefined ? {} : { hint: report.hint },
    );
  }

  /** `error`: why the operating system did not start the process. */
  notStarted(name: string, error: unknown): void {
    const refused = fromSystem(error);
    if (!isPaddletError(refused)) return;
    const { code, hint } = refused;
    const message = `cannot be started: ${refused.message}`;
    this.#failures.set(name, { level: 'error', message, code, ...(hint === undefined ? {} : { hint }) });
  }

  /** Why the process ended, as it said itself. */
  failureOf(name: string, exit: number, logFile: string): PaddletError {
    const { code, message = `ended with exit code ${exit}`, hint } = this.#failures.get(name) ?? {};
    return new PaddletError(isErrorCode(code) ? code : 'Internal', `${name}: ${message}`, {
      hint: hint ?? `see its log, ${logFile}`,
    });
  }
}
