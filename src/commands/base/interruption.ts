import { EXIT, PaddletError } from '../../base/errors.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The parts of `process` that this needs. */
export interface SignalSource {
  on(signal: (typeof SIGNALS)[number], run: () => void): unknown;
  exit(code: number): never;
}

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
      controller.abort(new PaddletError('Interrupted', `stopped by ${signal}`));
    });
  }
  return controller.signal;
}
