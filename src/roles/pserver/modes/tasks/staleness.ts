/**
 * Async mode: judges the staleness of each push, delays pulls under policy `wait`, and counts staleness for metrics and
 * status.
 */
import { assert } from '../../../../base/assert.ts';
import { PaddletError } from '../../../../base/errors.ts';
import type { Cancel, Clock, Log } from '../../../../base/seams.ts';
import { judgeStaleness, type PulledVersion, type StalenessRule } from '../../../../core/shard/staleness.ts';
import { type GateEffect, type GateEvent, StalenessGate } from '../../../../core/shard/staleness-gate.ts';
import type { Session } from '../../../../protocol/messages/channel.ts';
import type { HeldUpPulls } from '../../../../view/info.ts';
import type { PserverMetrics } from '../../metrics.ts';

/** Announcement of a trainer with a pull: the number of pushes that will carry gradients of the pulled values. */
export interface Hold {
  readonly trainer: string;
  readonly pushes: number;
  readonly since?: number | undefined;
}

export interface StalenessCounts {
  /** Number of accepted pushes whose staleness is known; `sum` and `max` are over their staleness in updates. */
  readonly counted: number;
  readonly sum: number;
  readonly max: number;
  readonly refused: number;
}

/**
 * Decides whether versions under different placement stamps can be compared. Units that come or go do not change the
 * age of pulled values.
 */
export interface ComparedShards {
  readonly stamp: { readonly revision: string };
  isComparable(revision: string): boolean;
}

export interface Staleness {
  /** The version of the shards: the number of applied updates. */
  version(): number;
  /**
   * Returns the learning-rate factor for a push that may be applied. `ahead`: number of pending updates that will be
   * applied before this push. Throws `TooStale`.
   */
  judge(shards: ComparedShards, used: PulledVersion | undefined, push: number, ahead?: number): number;
  /**
   * Resolves when the trainer may pull; undefined: the trainer may pull at once. Rejects with `NotReady` if other
   * trainers delay the pull for too long.
   */
  enter(hold: Hold | undefined, session: Session): Promise<void> | undefined;
  /** To be called after a push of this connection was applied, or was dropped as a duplicate. */
  pushed(session: Session): void;
  counts(): StalenessCounts;
  /** Waiting pulls and the trainers that delay them; undefined if no pull waits. */
  heldUp(): HeldUpPulls | undefined;
  /** Refuses waiting pulls with `NotReady`, and later pulls that announce pushes. */
  close(): void;
}

export interface StalenessOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly rule: StalenessRule | undefined;
  /** Pulls do not wait for a trainer that has been silent for this long. */
  readonly patienceMs: number;
  readonly version: () => number;
  readonly metrics: PserverMetrics;
}

/** Longest wait of a pull; shorter than the time after which a trainer gives up on a request. */
const ANSWER_WITHIN_MS = 8_000;

export function createStaleness(options: StalenessOptions): Staleness {
  const { rule, version, metrics } = options;
  const gate = rule?.policy === 'wait' ? createGateKeeper(options, rule.bound) : undefined;
  let counted = 0;
  let sum = 0;
  let max = 0;
  let refused = 0;
  return {
    version,
    judge(shards, used, push, ahead = 0) {
      const isComparable = used !== undefined && shards.isComparable(used.revision);
      const revision = isComparable ? used.revision : shards.stamp.revision;
      const verdict = judgeStaleness(rule, { revision, version: version() + ahead }, used);
      const { staleness } = verdict;
      if (verdict.outcome === 'refuse') {
        refused += 1;
        metrics.tooStale();
        const age =
          staleness === undefined ? 'another state of the shards' : `values that are ${staleness} updates old`;
        throw new PaddletError(
          'TooStale',
          `push ${push} was computed from ${age}; the staleness bound is ${rule?.bound}`,
          {
            details: { push, ...(staleness === undefined ? {} : { staleness }) },
          },
        );
      }
      if (staleness !== undefined) {
        counted += 1;
        sum += staleness;
        max = Math.max(max, staleness);
        metrics.staleness(staleness);
      }
      return verdict.rateScale;
    },
    enter: (hold, session) => (hold === undefined ? undefined : gate?.enter(hold, session)),
    pushed: (session) => gate?.pushed(session),
    counts: () => ({ counted, sum, max, refused }),
    heldUp: () => gate?.heldUp(),
    close: () => gate?.close(),
  };
}

interface WaitingPull {
  readonly resolve: () => void;
  readonly reject: (error: PaddletError) => void;
  readonly askedMs: number;
}

function createGateKeeper({ clock, log, version, patienceMs, metrics }: StalenessOptions, bound: number) {
  const gate = new StalenessGate({ bound, patienceMs, answerWithinMs: ANSWER_WITHIN_MS });
  /** A trainer has one connection, so the session identifies the holder. */
  const holders = new WeakMap<Session, number>();
  const names = new Map<number, string>();
  const waiting = new Map<number, WaitingPull>();
  let lastHolder = 0;
  let lastRequest = 0;
  let cancelTick: Cancel = () => {};
  let closed = false;

  function submit(event: GateEvent): void {
    if (closed) return;
    const nowMs = clock.monotonicMs();
    for (const effect of gate.step(event, version(), nowMs)) carryOut(effect, nowMs);
    cancelTick();
    const due = gate.nextDeadline();
    if (due !== undefined) cancelTick = clock.after(Math.max(0, due - nowMs), () => submit({ type: 'tick' }));
  }

  function carryOut(effect: GateEffect, nowMs: number): void {
    if (effect.type === 'expired') {
      log.warn(`trainer ${names.get(effect.holder)} has pushed nothing for ${effect.silentMs} ms: not waiting for it`);
      return;
    }
    const pull = waiting.get(effect.request);
    assert(pull !== undefined, 'an answer belongs to a request');
    waiting.delete(effect.request);
    metrics.waitedForStaleness(nowMs - pull.askedMs);
    if (effect.type === 'admit') pull.resolve();
    else pull.reject(delayed());
  }

  const delayed = (): PaddletError =>
    new PaddletError('NotReady', `the staleness bound: ${gate.holders()} trainers compute from older values`);

  function holderOf(session: Session, trainer: string): number {
    const known = holders.get(session);
    if (known !== undefined) return known;
    lastHolder += 1;
    const holder = lastHolder;
    holders.set(session, holder);
    names.set(holder, trainer);
    session.onClosed(() => {
      names.delete(holder);
      submit({ type: 'disconnected', holder });
    });
    return holder;
  }

  return {
    enter({ trainer, pushes, since }: Hold, session: Session): Promise<void> {
      if (closed) return Promise.reject(delayed());
      const holder = holderOf(session, trainer);
      lastRequest += 1;
      const request = lastRequest;
      return new Promise((resolve, reject) => {
        waiting.set(request, { resolve, reject, askedMs: clock.monotonicMs() });
        submit({ type: 'ask', holder, request, pushes, since });
      });
    },
    heldUp(): HeldUpPulls | undefined {
      const now = gate.heldUp(clock.monotonicMs());
      return (
        now && {
          pulls: now.pulls,
          longestMs: Math.round(now.longestMs),
          holders: now.holders.map(({ holder, silentMs }) => {
            return { trainer: names.get(holder)!, silentMs: Math.round(silentMs) };
          }),
        }
      );
    },
    pushed(session: Session): void {
      const holder = holders.get(session);
      if (holder !== undefined) submit({ type: 'pushed', holder });
    },
    close(): void {
      closed = true;
      cancelTick();
      for (const { reject } of waiting.values()) reject(delayed());
      waiting.clear();
    },
  };
}
