/**
 * Carries out what the source of a move decides (`src/core/units/move-source.ts`): copies shards, forwards updates, and
 * hands the unit over, or leaves the copy to the replicas. Requests ask it whether they may be answered now, and when
 * an update may be.
 */
import { assert, unreachable } from '../../../base/assert.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { Cancel, Clock, Log } from '../../../base/seams.ts';
import { roomOfPart } from '../../../core/replicas/peer-link.ts';
import type { MoveAnswer, MoveMessage, MoveName, MovePurpose, UnitOwner } from '../../../core/units/move-messages.ts';
import { MoveSource, type SourceEffect, type SourceEvent } from '../../../core/units/move-source.ts';
import type { HandOver } from '../../../core/units/move-source-events.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { MovedRounds } from '../held/unit-rounds.ts';
import type { WorkTimes } from '../metrics.ts';
import type { SharedUpdate } from '../update/shared-update.ts';
import type { Update } from '../update/update.ts';
import { type CopyPiece, copyShard, pieceBytes } from './copy-pieces.ts';
import { roundsPieces } from './rounds-pieces.ts';

/** What frames of a move carry. */
export type MovePayload = CopyPiece | Update;

/** What is told of a move that makes a backup copy, when its step is done: each of these may call the move. */
export interface CopyProgress {
  /** The target has all shards: `seal` may be called from now on. */
  readonly onCaughtUp: () => void;
  /** The target has the copy as it was at the seal, and follows from there on what is sent to it. */
  readonly onCopied: () => void;
  /** Of a sealed copy: the join is to be ended. Then `joinFailed` or `release` is called. */
  readonly onUnconfirmed: (reason: string) => void;
  /** It is given up. The target is still told so, until it answers. */
  readonly onAbandoned: () => void;
  /** The target has nothing of it, or what it has is no business of the move any more. */
  readonly onEnded: () => void;
}

export interface OutgoingMoveOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly times: WorkTimes;
  readonly shards: OwnedShards;
  readonly name: MoveName;
  /** Of a copy: what is committed when it begins. */
  readonly position?: number;
  readonly copy?: CopyProgress;
  readonly windowBytes: number;
  readonly pieceBytes: number;
  readonly silenceMs: number;
  readonly handOverMs: number;
  /** In sync mode. */
  readonly rounds?: MovedRounds | undefined;
  /** In order; what is sent without a connection is lost. */
  readonly send: (message: MoveMessage<MovePayload>) => void;
  /** To hand over: resolves when no save is running. None begins until the given function is called. */
  readonly withoutSaves?: () => Promise<() => void>;
  /** The unit stays or is gone, and requests that waited are about to be judged again. */
  readonly onSettled?: (outcome: 'kept' | 'moved') => void;
  /** The process cannot go on: it has lost its index, or there is a bug. */
  readonly onFatal: (error: unknown) => void;
}

export class OutgoingMove {
  readonly #options: OutgoingMoveOptions;
  readonly #machine: MoveSource<MovePayload>;
  /** Ticket → what is called when the update may be answered. */
  readonly #waiting = new Map<number, () => void>();
  readonly #events: SourceEvent<MovePayload>[] = [];
  /** Called when the step is done. */
  readonly #notices: (() => void)[] = [];
  readonly #ended: PromiseWithResolvers<'kept' | 'moved'> = Promise.withResolvers();
  /** Requests wait for it: it resolves when they are to be judged again. */
  #settled: PromiseWithResolvers<void> = Promise.withResolvers();
  #tickets = 0;
  #isStepping = false;
  #isOver = false;
  #hasEnded = false;
  #isOffered = false;
  #isForgotten = false;
  readonly #beganMs: number;
  #copiedBytes = 0;
  #cancelTick: Cancel = () => {};
  #releaseSaves: () => void = () => {};

  constructor(options: OutgoingMoveOptions) {
    this.#options = options;
    const { name, shards, clock } = options;
    this.#beganMs = clock.monotonicMs();
    this.#machine = new MoveSource({ ...options, shards: shards.shardsOf(name.unit) }, clock.monotonicMs());
  }

  /** Whether the unit stayed here. Settles when the target has nothing left of the move, or leads the unit. */
  get ended(): Promise<'kept' | 'moved'> {
    return this.#ended.promise;
  }

  get unit(): number {
    return this.#options.name.unit;
  }

  get purpose(): MovePurpose {
    return this.#options.name.purpose;
  }

  get target(): UnitOwner {
    return this.#options.name.target;
  }

  /** The unit stays, or the target leads it: this move decides about no request any more. */
  get isSettled(): boolean {
    return this.#isOver;
  }

  /** Whether requests that mean the unit may be answered now. Otherwise they wait for `settled`. */
  admits(kind: 'read' | 'update'): boolean {
    return this.#machine.admits(kind);
  }

  /** Requests that wait are to be judged again: the unit stays, or is no longer owned. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /**
   * An update was applied just now. To be awaited before it is answered; undefined: it may be answered at once, also
   * where it does not concern the unit.
   */
  applied(update: SharedUpdate): Promise<void> | undefined {
    const bytes = update.bytesByUnit.get(this.unit);
    if (bytes === undefined) return undefined;
    const payload = update.partOf([this.unit]);
    const ticket = this.#tickets++;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(ticket, resolve);
    this.#submit({ type: 'applied', payload, byteLength: roomOfPart(bytes), ticket });
    return this.#waiting.has(ticket) ? promise : undefined;
  }

  received(answer: MoveAnswer): void {
    this.#submit({ type: 'answer', answer });
  }

  connected(): void {
    this.#submit({ type: 'connected' });
  }

  targetGone(): void {
    this.#submit({ type: 'targetGone' });
  }

  abandon(reason: string): void {
    this.#submit({ type: 'abandon', reason });
  }

  /**
   * A copy ends with what is committed now: at this moment the machine of the unit's replicas is to be told `join`.
   * False: it was abandoned before.
   */
  seal(position: number): boolean {
    assert(!this.#isStepping, 'a copy is sealed between the steps of its move');
    this.#submit({ type: 'seal', position });
    return this.#machine.phase === 'sealing';
  }

  /** A sealed copy is in no head, and can come into none any more. */
  joinFailed(): void {
    this.#submit({ type: 'joinFailed' });
  }

  /** The copy is in the head, or this pserver leads the unit no more. */
  release(): void {
    this.#submit({ type: 'release' });
  }

  /** Updates that are applied from now on are not forwarded by this move. */
  get isSealed(): boolean {
    const { phase } = this.#machine;
    return this.#options.copy !== undefined && (phase === 'sealing' || phase === 'copied');
  }

  /** The target has its copy, which is in no head yet. */
  get isCopied(): boolean {
    return this.#machine.phase === 'copied';
  }

  /** The process was suspended until now. */
  resumed(): void {
    this.#submit({ type: 'resumed' });
  }

  /** Effects may submit events: these come after all effects of the step. */
  #submit(event: SourceEvent<MovePayload>): void {
    this.#events.push(event);
    if (this.#isStepping) return;
    this.#isStepping = true;
    const now = this.#options.clock.monotonicMs();
    try {
      this.#options.times.during(this.#options.copy === undefined ? 'moves' : 'copies', () => this.#stepAll(now));
    } finally {
      this.#isStepping = false;
    }
    if (this.#machine.isEnded) this.#end();
    else this.#scheduleTick(now);
    for (let notice = this.#notices.shift(); notice !== undefined; notice = this.#notices.shift()) notice();
  }

  #stepAll(now: number): void {
    for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
      for (const effect of this.#machine.step(next, now)) this.#carryOut(effect);
    }
  }

  #carryOut(effect: SourceEffect<MovePayload>): void {
    const { log, send, shards, name, copy } = this.#options;
    switch (effect.type) {
      case 'send':
        send(effect.message);
        break;
      case 'capture':
        this.#capture(effect.shard);
        break;
      case 'acknowledge':
        this.#waiting.get(effect.ticket)!();
        this.#waiting.delete(effect.ticket);
        break;
      case 'caughtUp':
        if (copy === undefined) this.#inBackground(this.#handOver());
        else this.#notices.push(copy.onCaughtUp);
        break;
      case 'copied':
        log.info(`pserver ${name.target.index} has a copy of unit ${this.unit} now`, this.#figures());
        this.#notices.push(copy!.onCopied);
        break;
      case 'unconfirmed':
        this.#notices.push(() => copy!.onUnconfirmed(effect.reason));
        break;
      case 'propose':
        this.#inBackground(this.#propose(effect.handOver));
        break;
      case 'abandoned':
        if (copy === undefined) log.info(`unit ${this.unit} stays: ${effect.reason}`, { target: name.target.index });
        else {
          log.info(`no copy of unit ${this.unit} for pserver ${name.target.index}: ${effect.reason}`);
          this.#notices.push(copy.onAbandoned);
        }
        this.#settle('kept');
        break;
      case 'moved':
        // A parting snapshot is being written when nothing else goes on: what it is of stays in memory. Who reads it
        // leaves out units whose heads name another pserver.
        if (!this.#isForgotten) {
          shards.remove(this.unit);
          this.#options.rounds?.remove(this.unit);
        }
        log.info(`unit ${this.unit} is led by pserver ${name.target.index} now`, this.#figures());
        this.#settle('moved');
        break;
      default:
        unreachable(effect);
    }
  }

  #capture(shard: number): void {
    if (!this.#isOffered) failPoint('move.offered');
    this.#isOffered = true;
    const { shards, rounds, pieceBytes: maxBytes } = this.#options;
    const { spec } = shards.job;
    const ofRounds = rounds === undefined ? [] : roundsPieces(spec, rounds.stateOf(this.unit, [shard]), maxBytes);
    const pieces = copyShard(shards, shard, spec, maxBytes, ofRounds);
    const sized = pieces.map((payload) => ({ payload, byteLength: pieceBytes(payload) }));
    for (const { byteLength } of sized) this.#copiedBytes += byteLength;
    this.#submit({ type: 'captured', shard, pieces: sized });
  }

  async #handOver(): Promise<void> {
    failPoint('move.copied');
    const release = await this.#options.withoutSaves!();
    // Abandoned while a save was running.
    if (this.#isOver || this.#isForgotten) {
      release();
      return;
    }
    this.#releaseSaves = release;
    this.#submit({ type: 'handOver' });
  }

  /** The heads ask the store until it answers. What they throw ends this process. */
  async #propose(handOver: HandOver): Promise<void> {
    failPoint('move.sealed');
    const decision = await this.#options.shards.heads.handOver(handOver);
    failPoint('move.decided');
    this.#submit({ type: 'decided', ...decision });
  }

  #inBackground(work: Promise<void>): void {
    work.catch(this.#options.onFatal);
  }

  /** The unit stays or is gone: whatever waited goes on. */
  #settle(outcome: 'kept' | 'moved'): void {
    this.#isOver = true;
    this.#letSavesGoOn();
    this.#options.onSettled?.(outcome);
    this.#settled.resolve();
    this.#settled = Promise.withResolvers();
  }

  /** Nothing comes of it any more: the target is left to find out by itself, and it holds no save back. */
  forget(): void {
    this.#isForgotten = true;
    this.#cancelTick();
    this.#letSavesGoOn();
  }

  #letSavesGoOn(): void {
    this.#releaseSaves();
    this.#releaseSaves = () => {};
  }

  #figures(): Record<string, unknown> {
    const { source, target, unit } = this.#options.name;
    const tookMs = Math.round(this.#options.clock.monotonicMs() - this.#beganMs);
    return { unit, from: source.index, to: target.index, bytes: this.#copiedBytes, tookMs };
  }

  #end(): void {
    assert(this.#waiting.size === 0, 'no update waits when a move has ended');
    this.#cancelTick();
    this.#ended.resolve(this.#machine.phase === 'moved' ? 'moved' : 'kept');
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#options.copy !== undefined) this.#notices.push(this.#options.copy.onEnded);
  }

  #scheduleTick(now: number): void {
    this.#cancelTick();
    const due = this.#machine.nextDeadline();
    if (due === undefined || this.#isForgotten) return;
    this.#cancelTick = this.#options.clock.after(Math.max(0, due - now), () => this.#submit({ type: 'tick' }));
  }
}
