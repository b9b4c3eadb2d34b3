/** The version of each pserver of a job in sync mode, from long polls for the next version, one after the other. */

import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import type { PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { CutView } from '../../../cluster/placement/cut-view.ts';
import type { PlacedPserver, PlacementView } from '../../../cluster/placement/placement-view.ts';
import { createSignal, pauseOrAborted, type Signal, unlessStopped } from '../../../cluster/waiting.ts';
import { sameStamp } from '../../../core/placement.ts';

/** The position that one pserver reports. */
export interface PserverPosition {
  readonly index: number;
  readonly timeline: number;
  readonly version: number;
  readonly oldest: number;
  /** Lanes that its round waits for. */
  readonly missing: readonly number[];
  /** When this version of it was first seen. */
  readonly sinceMs: number;
}

/** Position of all pservers, on the timeline that the store has. */
export interface RoundPosition {
  readonly timeline: number;
  /** The lowest, and the highest. */
  readonly version: number;
  readonly highest: number;
  /** Lanes that any pserver at the lowest version waits for, ascending. */
  readonly missing: readonly number[];
}

export interface RoundsWatch {
  readonly changed: Signal;
  /** Undefined while a pserver is missing, does not answer, or is on its way to another timeline. */
  current(): RoundPosition | undefined;
  /** Positions of the pservers that answered last time, by index. */
  pservers(): readonly PserverPosition[];
  /** Indexes of those that answered last that their lease is not certainly held. */
  suspended(): readonly number[];
  /** Asks all of them now. */
  look(): void;
  readonly cancel: Cancel;
}

export interface RoundsWatchOptions {
  readonly context: RoleContext;
  readonly group: PserverGroup;
  readonly view: PlacementView;
  readonly stored: CutView;
  /** Whenever a pserver has answered and all are known. */
  readonly onPosition: (position: RoundPosition) => void;
  readonly onFatal: (error: unknown) => void;
}

/** The lanes that are missing change while the version does not. */
const WAIT_MS = 1_000;
const TIMEOUT_MS = WAIT_MS + 10_000;
/** However fast the rounds are, a pserver is asked so often at most. */
const SPACING_MS = 40;

export function watchRounds(options: RoundsWatchOptions): RoundsWatch {
  const watch = new Watch(options);
  watch.start();
  return watch;
}

class Watch implements RoundsWatch {
  readonly changed = createSignal();
  readonly #options: RoundsWatchOptions;
  readonly #stop = new AbortController();
  readonly #positions = new Map<number, PserverPosition>();
  readonly #suspended = new Set<number>();
  /** Owners that are being asked, by index and token, with the units that they lead now. */
  readonly #asked = new Map<string, PlacedPserver>();
  readonly #fatal: (error: unknown) => void;

  constructor(options: RoundsWatchOptions) {
    this.#options = options;
    this.#fatal = unlessStopped(this.#stop.signal, options.onFatal);
  }

  start(): void {
    this.#followPlacement().catch(this.#fatal);
  }

  current(): RoundPosition | undefined {
    const { stored, view } = this.#options;
    const timeline = stored.current()?.cut.timeline;
    const placed = view.current()?.pservers;
    if (timeline === undefined || placed === undefined) return undefined;
    const all = placed.flatMap(({ index }) => this.#positions.get(index) ?? []);
    if (all.length < placed.length || all.some((one) => one.timeline !== timeline)) return undefined;
    const version = Math.min(...all.map((one) => one.version));
    const lowest = all.filter((one) => one.version === version);
    const missing = [...new Set(lowest.flatMap((one) => one.missing))].sort((a, b) => a - b);
    return { timeline, version, highest: Math.max(...all.map((one) => one.version)), missing };
  }

  pservers(): readonly PserverPosition[] {
    return [...this.#positions.values()].sort((a, b) => a.index - b.index);
  }

  suspended(): readonly number[] {
    return [...this.#suspended].sort((a, b) => a - b);
  }

  look(): void {
    for (const pserver of this.#asked.values()) {
      this.#ask(pserver, { maxWaitMs: 0 }).catch((error: unknown) => {
        // The loop that follows this pserver meets the same error.
        if (!isPaddletError(error)) this.#options.onFatal(error);
      });
    }
  }

  readonly cancel = (): void => this.#stop.abort();

  async #followPlacement(): Promise<never> {
    const { view } = this.#options;
    for (let seen = view.version(); ; seen = view.version()) {
      for (const pserver of view.current()?.pservers ?? []) this.#begin(pserver);
      await view.changed.until(() => (view.version() === seen ? undefined : true), this.#stop.signal);
    }
  }

  #begin(pserver: PlacedPserver): void {
    const key = ownerKey(pserver);
    const known = this.#asked.get(key);
    const isKnown = known !== undefined;
    if (isKnown && sameStamp(known.stamp, pserver.stamp)) return;
    this.#asked.set(key, pserver);
    // What it said was of other units.
    this.#positions.delete(pserver.index);
    this.#suspended.delete(pserver.index);
    if (isKnown) return;
    this.#follow(key, pserver)
      .finally(() => this.#asked.delete(key))
      .catch(this.#fatal);
  }

  async #follow(key: string, owner: PlacedPserver): Promise<void> {
    const { stored, context } = this.#options;
    const { clock, log } = context.host;
    let failures = 0;
    while (this.#isLive(owner)) {
      const pserver = this.#asked.get(key)!;
      try {
        const known = this.#positions.get(pserver.index);
        const isCurrent = known !== undefined && known.timeline === stored.current()?.cut.timeline;
        await this.#ask(pserver, isCurrent ? { above: known.version, maxWaitMs: WAIT_MS } : { maxWaitMs: 0 });
        failures = 0;
        this.#suspended.delete(pserver.index);
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        log.debug(`asking pserver ${pserver.index} for its version: ${error.code}: ${error.message}`);
        if (error.code === 'Suspended') this.#suspended.add(pserver.index);
        else this.#suspended.delete(pserver.index);
        if (this.#positions.delete(pserver.index)) this.changed.notify();
        failures += 1;
      }
      await pauseOrAborted(clock, failures === 0 ? SPACING_MS : backoffMs(failures - 1), this.#stop.signal);
    }
  }

  async #ask(pserver: PlacedPserver, wait: { above?: number; maxWaitMs: number }): Promise<void> {
    const { group, context } = this.#options;
    const reply = await group.ask(this.#asPlaced(pserver), 'rounds', wait, [], TIMEOUT_MS);
    reply.free();
    if (!this.#isLive(pserver) || this.#asked.get(ownerKey(pserver)) !== pserver) return;
    const { timeline, version, oldest, missing } = reply.header;
    const { index } = pserver;
    const before = this.#positions.get(index);
    const isSame = before?.timeline === timeline && before.version === version;
    // Answers of two requests may cross.
    if (before?.timeline === timeline && version < before.version) return;
    const sinceMs = isSame ? before.sinceMs : context.host.clock.monotonicMs();
    this.#positions.set(index, { index, timeline, version, oldest, missing, sinceMs });
    const now = this.current();
    if (now !== undefined) this.#options.onPosition(now);
    this.changed.notify();
  }

  /** The pserver with the units that it leads now. */
  #asPlaced(pserver: PlacedPserver): PlacedPserver {
    const placed = this.#options.view.current()?.pservers ?? [];
    return placed.find(({ index, token }) => index === pserver.index && token === pserver.token) ?? pserver;
  }

  #isLive({ index, token }: PlacedPserver): boolean {
    return !this.#stop.signal.aborted && this.#options.view.isLive(index, token);
  }
}

const ownerKey = ({ index, token }: PlacedPserver): string => `${index}/${token}`;
