/**
 * Pservers that hold their index, and so live, but have not answered this process for long: the network between the two
 * is cut, or that process is suspended. No other pserver takes its units, as it can reach the store, and requests to it
 * wait. Therefore every answer to `info` shows it.
 */
import { isPaddletError } from '../../base/errors.ts';
import type { Clock } from '../../base/seams.ts';
import type { PlacedPserver } from '../placement/placement-view.ts';
import type { Troubles } from '../troubles.ts';

export interface SilentPserversOptions {
  readonly clock: Clock;
  readonly troubles: Pick<Troubles, 'set' | 'clear'>;
  /** Whether the process has its index still. */
  readonly isLive: (index: number, token: bigint) => boolean;
  /** A dead one loses its index before. */
  readonly longMs: number;
}

type Owner = Pick<PlacedPserver, 'index' | 'token'>;

export class SilentPservers {
  readonly #options: SilentPserversOptions;
  /** By index: since when each attempt has failed. */
  readonly #silent = new Map<number, { readonly token: bigint; readonly sinceMs: number }>();

  constructor(options: SilentPserversOptions) {
    this.#options = options;
  }

  /** It has answered, if only with an error. */
  answered({ index }: Owner): void {
    if (this.#silent.delete(index)) this.#tell();
  }

  /** `askedMs`: when it was asked. */
  failed(pserver: Owner, error: unknown, askedMs: number): void {
    // The request was given up here.
    if (isPaddletError(error, 'Interrupted')) return;
    if (!isPaddletError(error, 'ConnectionLost', 'RequestTimeout')) {
      this.answered(pserver);
      return;
    }
    const { index, token } = pserver;
    if (this.#silent.get(index)?.token !== token) this.#silent.set(index, { token, sinceMs: askedMs });
    this.#tell();
  }

  #tell(): void {
    const { clock, troubles, isLive, longMs } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const [index, { token }] of this.#silent) if (!isLive(index, token)) this.#silent.delete(index);
    const long = [...this.#silent].filter(([, { sinceMs }]) => nowMs - sinceMs >= longMs).map(([index]) => index);
    if (long.length === 0) troubles.clear('pserver');
    else troubles.set('pserver', textOf(long.sort((a, b) => a - b)));
  }
}

const textOf = (indexes: readonly number[]): string =>
  `an answer of pserver ${indexes.join(', ')}, which has its index: the network to it is cut, or it is suspended`;
