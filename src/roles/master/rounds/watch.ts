/** Where the pservers of a job in sync mode stand: each is asked again and again, which waits for its next version. */

import { backoffMs } from '../../../base/backoff.ts';
import { isPaddletError } from '../../../base/errors.ts';
import type { Cancel } from '../../../base/seams.ts';
import type { PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { CutView } from '../../../cluster/placement/cut-view.ts';
import type { PlacedPserver, PlacementView } from '../../../cluster/placement/placement-view.ts';
import { createSignal, pauseOrAborted, type Signal } from '../../../cluster/waiting.ts';

/** A pserver by its own word. */
export interface PserverStanding {
  readonly index: number;
  readonly timeline: number;
  readonly version: number;
  readonly oldest: number;
  /** Lanes that its round waits for. */
  readonly missing: readonly number[];
  /** When this version of it was first seen. */
  readonly sinceMs: number;
}

/** All of them, on the timeline that the store has. */
export interface RoundsStanding {
  readonly timeline: number;
  /** The lowest, and the highest. */
  readonly version: number;
  readonly highest: number;
  /** Lanes that any pserver at the lowest version waits for, ascending. */
  readonly missing: readonly number[];
}

export interface RoundsWatch {
  readonly changed: Signal;
  /** Undefined while a pserver is not there, does not answer, or is on its way to another timeline. */
  current(): RoundsStanding | undefined;
  /** Those that answered last time, by index. */
  pservers(): readonly PserverStanding[];
  /** Asks all of them now. */
  look(): void;
  readonly cancel: Cancel;
}

export interface RoundsWatchOptions {
  readonly context: RoleContext;
  readonly group: PserverGroup;
  readonly view: PlacementView;
  readonly cuts: CutView;
  readonly pservers: number;
  /** Whenever a pserver has answered and all are known. */
  readonly onStanding: (standing: RoundsStanding) => void;
  readonly onEnd: (error: unknown) => void;
}

/** The lanes that are missing change while the version does not. */
const WAIT_MS = 1_000;
const TIMEOUT_MS = WAIT_MS + 10_000;
/** However fast the rounds go, a pserver is asked so often at most. */
const SPACING_MS = 40;

export function watchRounds(options: RoundsWatchOptions): RoundsWatch {
  const { context, group, view, cuts, onStanding } = options;
  const { clock, log } = context.host;
  const changed = createSignal();
  const over = new AbortController();
  const standings = new Map<number, PserverStanding>();
  /** Owners that are being asked, by index and token. */
  const asked = new Map<string, PlacedPserver>();

  const isLive = ({ index, token }: PlacedPserver): boolean => !over.signal.aborted && view.isLive(index, token);

  async function ask(pserver: PlacedPserver, wait: { above?: number; maxWaitMs: number }): Promise<void> {
    const reply = await group.ask(pserver, 'rounds', wait, [], TIMEOUT_MS);
    reply.free();
    if (!isLive(pserver)) return;
    const { timeline, version, oldest, missing } = reply.header;
    const { index } = pserver;
    const before = standings.get(index);
    const isSame = before?.timeline === timeline && before.version === version;
    // Answers of two requests may cross.
    if (before?.timeline === timeline && version < before.version) return;
    const sinceMs = isSame ? before.sinceMs : clock.monotonicMs();
    standings.set(index, { index, timeline, version, oldest, missing, sinceMs });
    told();
  }

  function told(): void {
    const now = current();
    if (now !== undefined) onStanding(now);
    changed.notify();
  }

  async function follow(pserver: PlacedPserver): Promise<void> {
    let failures = 0;
    while (isLive(pserver)) {
      try {
        const known = standings.get(pserver.index);
        const isCurrent = known !== undefined && known.timeline === cuts.current()?.cut.timeline;
        await ask(pserver, isCurrent ? { above: known.version, maxWaitMs: WAIT_MS } : { maxWaitMs: 0 });
        failures = 0;
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        log.debug(`where pserver ${pserver.index} stands: ${error.code}: ${error.message}`);
        if (standings.delete(pserver.index)) changed.notify();
        failures += 1;
      }
      await pauseOrAborted(clock, failures === 0 ? SPACING_MS : backoffMs(failures - 1), over.signal);
    }
  }

  function begin(pserver: PlacedPserver): void {
    const key = `${pserver.index}/${pserver.token}`;
    if (asked.has(key)) return;
    asked.set(key, pserver);
    standings.delete(pserver.index);
    follow(pserver)
      .finally(() => asked.delete(key))
      .catch((error: unknown) => {
        if (!over.signal.aborted || !isPaddletError(error, 'Interrupted')) options.onEnd(error);
      });
  }

  async function followPlacement(): Promise<never> {
    for (let seen = view.version(); ; seen = view.version()) {
      for (const pserver of view.current()?.pservers ?? []) begin(pserver);
      await view.changed.until(() => (view.version() === seen ? undefined : true), over.signal);
    }
  }
  followPlacement().catch((error: unknown) => {
    if (!over.signal.aborted || !isPaddletError(error, 'Interrupted')) options.onEnd(error);
  });

  function current(): RoundsStanding | undefined {
    const timeline = cuts.current()?.cut.timeline;
    const all = [...standings.values()].filter((one) => one.timeline === timeline);
    if (timeline === undefined || all.length < options.pservers || view.current() === undefined) return undefined;
    const version = Math.min(...all.map((one) => one.version));
    const lowest = all.filter((one) => one.version === version);
    const missing = [...new Set(lowest.flatMap((one) => one.missing))].sort((a, b) => a - b);
    return { timeline, version, highest: Math.max(...all.map((one) => one.version)), missing };
  }

  return {
    changed,
    current,
    pservers: () => [...standings.values()].sort((a, b) => a.index - b.index),
    look() {
      for (const pserver of asked.values()) {
        ask(pserver, { maxWaitMs: 0 }).catch((error: unknown) => {
          // Its own loop notices the same.
          if (!isPaddletError(error)) options.onEnd(error);
        });
      }
    },
    cancel: () => over.abort(),
  };
}
