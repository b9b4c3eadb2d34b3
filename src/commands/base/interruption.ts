import { EXIT, PaddletError } from '../../base/errors.ts';
import { onStopSignal } from '../../host/stop-signals.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
type StopSignal = (typeof SIGNALS)[number];

/** Where signals come from, and how the process ends at once. */
export interface SignalSource {
  on(signal: StopSignal, run: () => void): unknown;
  exit(code: number): never;
}

/** The signals of this process. */
export const OWN_SIGNALS: SignalSource = { on: onStopSignal, exit: (code) => process.exit(code) };

const stoppedBy = (signal: StopSignal): PaddletError => new PaddletError('Interrupted', `stopped by ${signal}`);

/**
 * The first signal asks to stop cleanly (the abort reason is an `Interrupted` error that names it); the second one ends
 * the process at once, after `atOnce`.
 */
export function abortOnSignals(source: SignalSource, atOnce: () => void = () => {}): AbortSignal {
  const controller = new AbortController();
  for (const signal of SIGNALS) {
    source.on(signal, () => {
      if (controller.signal.aborted) {
        atOnce();
        source.exit(EXIT.interrupted);
      }
      controller.abort(stoppedBy(signal));
    });
  }
  return controller.signal;
}

export interface RoleSignals {
  /** This process is to stop cleanly. */
  readonly stop: AbortSignal;
  /** The whole job stops with it. */
  readonly jobStop: AbortSignal;
  /** This process is to end without saving anything. */
  readonly endNow?: AbortSignal;
}

/**
 * For a role. SIGTERM is about this process alone: others take over what it has, if they can. SIGINT and SIGHUP say
 * that the whole job stops; after a SIGTERM they end the handing over. Any further signal ends the process at once.
 */
export function roleSignals(source: SignalSource): RoleSignals {
  const stop = new AbortController();
  const jobStop = new AbortController();
  for (const signal of SIGNALS) {
    source.on(signal, () => {
      const isNews = signal === 'SIGTERM' ? !stop.signal.aborted : !jobStop.signal.aborted;
      if (!isNews) source.exit(EXIT.interrupted);
      if (signal !== 'SIGTERM') jobStop.abort(stoppedBy(signal));
      stop.abort(stoppedBy(signal));
    });
  }
  return { stop: stop.signal, jobStop: jobStop.signal };
}
