/**
 * Carries out the effects of the source's state machine for one move (`src/core/units/move-source.ts`). It copies
 * shards, forwards updates, and hands the unit over or leaves the copy to the replicas. It also says whether requests
 * may be answered now, and when an applied update may be answered.
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

/** The payload of a frame of a move. */
export type MovePayload = CopyPiece | Update;

/** Callbacks of a move that makes a backup copy. They are called after the step, so each of them may call the move. */
export interface CopyProgress {
  /** The target has all shards, so `seal` may be called from now on. */
  readonly onCaughtUp: () => void;
  /** The target has the copy as it was at the seal, and follows the unit by its replica link from there. */
  readonly onCopied: () => void;
  /** The target has not confirmed a sealed copy. The callee ends the join, then calls `joinFailed` or `release`. */
  readonly onUnconfirmed: (reason: string) => void;
  /** The copy is given up. The move still sends `abandon` until the target answers. */
  readonly onAbandoned: () => void;
  /** The target has discarded the copy, or the copy no longer concerns this move. */
  readonly onEnded: () => void;
}

export interface OutgoingMoveOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly times: WorkTimes;
  readonly shards: OwnedShards;
  readonly name: MoveName;
  /** For a backup copy: the committed position when the move starts. */
  readonly position?: number;
  readonly copy?: CopyProgress;
  readonly windowBytes: number;
  readonly pieceBytes: number;
  readonly silenceMs: number;
  readonly handOverMs: number;
  /** In sync mode only. */
  readonly rounds?: MovedRounds | undefined;
  /** Sends messages in order. A message is lost if the target is not connected. */
  readonly send: (message: MoveMessage<MovePayload>) => void;
  /** To hand over. Resolves when no save is running; no save starts until the resolved function is called. */
  readonly withoutSaves?: () => Promise<() => void>;
  /** Called when the unit is kept or moved, just before waiting requests are checked again. */
  readonly onSettled?: (outcome: 'kept' | 'moved') => void;
  /** The process cannot continue: it has lost its index, or it has found a bug. */
  readonly onFatal: (error: unknown) => void;
}

export class OutgoingMove {
  readonly #options: OutgoingMoveOptions;
  readonly #machine: MoveSource<MovePayload>;
  /** Ticket → function to call when the update may be answered. */
  readonly #waiting = new Map<number, () => void>();
  readonly #events: SourceEvent<MovePayload>[] = [];
  /** Callbacks to call after the step. */
  readonly #notices: (() => void)[] = [];
  readonly #ended: PromiseWithResolvers<'kept' | 'moved'> = Promise.withResolvers();
  /** Resolves when waiting requests must be checked again. */
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

  /** The outcome. Resolves when the target has discarded its copy, leads the unit, or keeps the copy as a backup. */
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

  /** The unit is kept or moved: this move no longer decides about requests. */
  get isSettled(): boolean {
    return this.#isOver;
  }

  /** Whether requests for the unit may be answered now. Otherwise they wait for `settled`. */
  admits(kind: 'read' | 'update'): boolean {
    return this.#machine.admits(kind);
  }

  /** Resolves when waiting requests must be checked again, because the unit was kept or moved. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /**
   * The caller calls this in the step in which it applied an update, and awaits the result before it answers.
   * Undefined: it may answer at once, for example because the update does not concern the unit.
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
   * Ends a backup copy at the position that is committed now. In the same step, the caller must submit `join` to the
   * machine of the unit's replicas. Returns false if the copy was already abandoned.
   */
  seal(position: number): boolean {
    assert(!this.#isStepping, 'a copy is sealed between the steps of its move');
    this.#submit({ type: 'seal', position });
    return this.#machine.phase === 'sealing';
  }

  /** No head names the sealed copy, and no head can name it in the future. */
  joinFailed(): void {
    this.#submit({ type: 'joinFailed' });
  }

  /** The head names the copy, or this pserver no longer leads the unit. */
  release(): void {
    this.#submit({ type: 'release' });
  }

  /** Whether this move has stopped forwarding updates, because its backup copy is sealed. */
  get isSealed(): boolean {
    const { phase } = this.#machine;
    return this.#options.copy !== undefined && (phase === 'sealing' || phase === 'copied');
  }

  /** Whether the target has its backup copy, which no head names yet. */
  get isCopied(): boolean {
    return this.#machine.phase === 'copied';
  }

  /** The process was suspended until now. */
  resumed(): void {
    this.#submit({ type: 'resumed' });
  }

  /** Effects may submit events. The machine gets these events after all effects of the step. */
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
        // If the move was forgotten, a parting snapshot may be in progress, and its shards must stay in memory. The
        // reader of the snapshot skips units whose heads name another pserver.
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
    // The move was abandoned while it waited for the save.
    if (this.#isOver || this.#isForgotten) {
      release();
      return;
    }
    this.#releaseSaves = release;
    this.#submit({ type: 'handOver' });
  }

  /** `handOver` asks the store until it answers. An error ends this process. */
  async #propose(handOver: HandOver): Promise<void> {
    failPoint('move.sealed');
    const decision = await this.#options.shards.heads.handOver(handOver);
    failPoint('move.decided');
    this.#submit({ type: 'decided', ...decision });
  }

  #inBackground(work: Promise<void>): void {
    work.catch(this.#options.onFatal);
  }

  /** The unit is kept or moved: waiting saves and requests continue. */
  #settle(outcome: 'kept' | 'moved'): void {
    this.#isOver = true;
    this.#resumeSaves();
    this.#options.onSettled?.(outcome);
    this.#settled.resolve();
    this.#settled = Promise.withResolvers();
  }

  /** Drops the move: it does not notify the target, which finds out from the store, and it no longer blocks saves. */
  forget(): void {
    this.#isForgotten = true;
    this.#cancelTick();
    this.#resumeSaves();
  }

  #resumeSaves(): void {
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
