/**
 * The source of a move, which leads the unit (docs/copies.md). It copies the unit to the target shard by shard and
 * forwards every later update. Then it hands the unit over by one change of the head, or leaves the copy to the
 * replicas.
 *
 * To hand over (`lead`). Until the store accepts the change, this pserver leads the unit as before:
 *
 *   offering ─accepted─> copying ─handOver─> sealing ─sealed─> deciding ─the store's answer─> moved
 *      │                    │                   │                 └─the target is dead─> abandoning ─> kept
 *      └────────────────────┴───────────────────┴────────────────────────────────────────────────────>
 *
 * - In `sealing`, updates wait.
 * - In `deciding`, this pserver does not even answer pulls for the unit, since the target may already lead it.
 * - The outcome is unknown until the store has *answered* a transaction: an earlier try may still take effect after a
 *   read that does not show it. So this pserver sends the same transaction until the store answers.
 *
 * To make a backup copy (`copy`). Requests do not wait for the phase:
 *
 *   offering ─accepted─> copying ─seal─> sealing ─sealed─> copied ─release─> released
 *      │                    │               └────────────────┴─joinFailed─> abandoning ─> kept
 *      └────────────────────┴─────────────────────────────────────────────>
 *
 * From the seal on, the head may name the target at any time. So the move does not end a sealed copy by itself: it
 * emits `unconfirmed`, and the replicas, which alone know, say whether the join has failed.
 *
 * One machine is one attempt. It is pure: time is an argument. The shell carries out the effects in order.
 */
import { assert, unreachable } from '../../base/assert.ts';
import { isSameMove, isSameOwner, type MoveAnswer, type MoveMessage } from './move-messages.ts';
import type {
  HandOver,
  SourceEffect,
  SourceEvent,
  SourceOptions,
  SourcePhase,
  SourceState,
} from './move-source-events.ts';
import { MoveWindow } from './move-window.ts';

export type { SourceEffect, SourceEvent, SourceOptions, SourcePhase, SourceState } from './move-source-events.ts';

export class MoveSource<P> {
  readonly #options: SourceOptions;
  readonly #window: MoveWindow<P>;
  readonly #state: Omit<SourceState<P>, 'window' | 'held'>;
  /** Tickets of applied updates whose answers wait. */
  #held: number[];
  /** Filled during one step. */
  #effects: SourceEffect<P>[] = [];

  /** Continues from a state, or starts with an offer that `connected` sends. */
  constructor(options: SourceOptions, now: number, from?: SourceState<P>) {
    assert(options.shards.length > 0 && options.windowBytes > 0, 'there is a shard to copy, and room for it');
    this.#options = options;
    const { window, held, ...state } = from ?? beginning<P>(now, options.position);
    this.#window = new MoveWindow(options.windowBytes, window);
    this.#held = [...held];
    this.#state = { ...state };
  }

  state(): SourceState<P> {
    return { ...this.#state, held: [...this.#held], window: this.#window.state() };
  }

  /** Whether requests for the unit may be answered now. Otherwise they wait for `abandoned` or `moved`. */
  admits(kind: 'read' | 'update'): boolean {
    const { phase } = this.#state;
    if (phase === 'deciding' || phase === 'moved') return false;
    return kind === 'read' || phase !== 'sealing' || this.#isForCopy;
  }

  get phase(): SourcePhase {
    return this.#state.phase;
  }

  get isEnded(): boolean {
    const { phase } = this.#state;
    return phase === 'kept' || phase === 'moved' || phase === 'released';
  }

  get #isForCopy(): boolean {
    return this.#options.name.purpose === 'copy';
  }

  /** Latest time for the next `tick`; undefined if none is needed. */
  nextDeadline(): number | undefined {
    const { phase, heardMs, sealingMs } = this.#state;
    const silent = heardMs + this.#options.silenceMs;
    if (phase === 'sealing' && this.#isForCopy) return this.#state.isUnconfirmedReported ? undefined : silent;
    if (phase === 'sealing') return Math.min(silent, sealingMs + this.#options.handOverMs);
    if (phase === 'offering' || phase === 'abandoning') return silent;
    return phase === 'copying' && this.#window.isSending ? silent : undefined;
  }

  step(event: SourceEvent<P>, now: number): SourceEffect<P>[] {
    this.#effects = [];
    this.#handle(event, now);
    this.#copyOn(now);
    this.#releaseHeld();
    return this.#effects;
  }

  #handle(event: SourceEvent<P>, now: number): void {
    switch (event.type) {
      case 'connected':
        this.#connected(now);
        break;
      case 'answer':
        this.#answer(event.answer, now);
        break;
      case 'captured':
        this.#captured(event);
        break;
      case 'applied':
        this.#applied(event);
        break;
      case 'handOver':
        assert(!this.#isForCopy, 'a copy is not handed over');
        if (this.#state.phase === 'copying') this.#state.isHandOverDue = true;
        break;
      case 'seal':
        this.#sealCopy(event.position, now);
        break;
      case 'joinFailed':
        if (this.#isSealedCopy) this.#giveUp('the copy was not taken into the head', now);
        break;
      case 'release':
        this.#release(now);
        break;
      case 'decided':
        this.#decided(event, now);
        break;
      case 'targetGone':
        this.#targetGone(now);
        break;
      case 'abandon':
        this.#abandon(event.reason, now);
        break;
      case 'tick':
        this.#tick(now);
        break;
      case 'resumed':
        this.#state.heardMs = now;
        this.#state.sealingMs = now;
        break;
      default:
        unreachable(event);
    }
  }

  // ---- messages to the target

  #send(message: MoveMessage<P>): void {
    this.#effects.push({ type: 'send', message });
  }

  #connected(now: number): void {
    const { phase } = this.#state;
    const { name } = this.#options;
    this.#state.heardMs = now;
    if (phase === 'offering') this.#send({ type: 'offer', name });
    if (phase === 'abandoning') this.#send({ type: 'abandon', name });
    for (const frame of this.#window.sendAgain(name)) this.#send({ type: 'frame', frame });
  }

  /** Sends frames that have room. Requests the next shard only when no frame waits, so at most one shard waits. */
  #copyOn(now: number): void {
    if (this.#state.phase !== 'copying' && this.#state.phase !== 'sealing') return;
    if (this.#state.phase === 'copying' && this.#state.isHandOverDue && this.#isCaughtUp()) this.#seal(now);
    if (!this.#window.isSending) this.#state.heardMs = now;
    for (const frame of this.#window.send(this.#options.name)) this.#send({ type: 'frame', frame });
    if (this.#state.phase !== 'copying') return;
    this.#capture();
    if (this.#state.isCaughtUpReported || !this.#isCaughtUp()) return;
    this.#state.isCaughtUpReported = true;
    this.#effects.push({ type: 'caughtUp' });
  }

  #capture(): void {
    const shard = this.#options.shards[this.#state.captured];
    if (shard === undefined || this.#state.isCapturing || !this.#window.isAllSent) return;
    this.#state.isCapturing = true;
    this.#effects.push({ type: 'capture', shard });
  }

  #captured({ shard, pieces }: Extract<SourceEvent<P>, { type: 'captured' }>): void {
    const { phase, captured, position } = this.#state;
    // The move was abandoned after the shard was requested.
    if (phase !== 'copying') return;
    assert(this.#state.isCapturing && shard === this.#options.shards[captured], 'the shard was asked for');
    assert(pieces.length > 0, 'a shard has a piece, even an empty one');
    this.#state.isCapturing = false;
    this.#state.captured += 1;
    pieces.forEach(({ payload, byteLength }, at) => {
      const isLast = at === pieces.length - 1;
      this.#window.add({ type: 'piece', shard, isLast, position, payload }, byteLength);
    });
    this.#state.copiedAt = this.#window.next;
  }

  /** Before the first shard is captured, updates need no forwarding: all later copies of shards include them. */
  #applied({ payload, byteLength, ticket }: Extract<SourceEvent<P>, { type: 'applied' }>): void {
    assert(this.admits('update'), 'no update is applied while the unit is handed over');
    this.#held.push(ticket);
    // The replica link sends it.
    if (this.#isSealedCopy) return;
    this.#state.position += 1;
    if (this.#state.phase !== 'copying' || this.#state.captured === 0) return;
    this.#window.add({ type: 'update', position: this.#state.position, payload }, byteLength);
  }

  /** Acknowledges updates unless too many wait for room: so a slow target slows down the trainers that push. */
  #releaseHeld(): void {
    if (this.#window.isOverfull) return;
    for (const ticket of this.#held) this.#effects.push({ type: 'acknowledge', ticket });
    this.#held = [];
  }

  /** Whether the target has all shards, and all later updates are at least sent. */
  #isCaughtUp(): boolean {
    const { captured, copiedAt } = this.#state;
    return captured === this.#options.shards.length && this.#window.first >= copiedAt && this.#window.isAllSent;
  }

  #seal(now: number): void {
    this.#state.phase = 'sealing';
    this.#state.sealingMs = now;
    this.#window.add({ type: 'seal', position: this.#state.position }, 0);
  }

  // ---- answers of the target

  #answer(answer: MoveAnswer, now: number): void {
    const { phase, position } = this.#state;
    if (!isSameMove(answer.name, this.#options.name)) return;
    switch (answer.type) {
      case 'accepted':
        if (phase === 'offering') this.#accepted(now);
        break;
      case 'taken':
        if (this.#window.taken(answer.next)) this.#state.heardMs = now;
        break;
      case 'sealed':
        if (phase === 'sealing' && answer.position === position) this.#sealed();
        break;
      case 'refused':
        this.#abandon(answer.reason, now);
        break;
      case 'discarded':
        if (phase === 'abandoning') this.#state.phase = 'kept';
        break;
      default:
        unreachable(answer);
    }
  }

  #accepted(now: number): void {
    this.#state.phase = 'copying';
    this.#state.heardMs = now;
  }

  #sealed(): void {
    if (!this.#isForCopy) this.#decide();
    else if (!this.#state.isUnconfirmedReported) this.#copied();
  }

  // ---- a copy

  get #isSealedCopy(): boolean {
    const { phase } = this.#state;
    return this.#isForCopy && (phase === 'sealing' || phase === 'copied');
  }

  #sealCopy(position: number, now: number): void {
    const { phase, isCaughtUpReported } = this.#state;
    if (phase !== 'copying') return;
    assert(this.#isForCopy && isCaughtUpReported, 'a copy is sealed when the target has all shards');
    assert(position === this.#state.position, 'a copy has everything that is committed, and nothing else');
    this.#seal(now);
  }

  #copied(): void {
    this.#window.clear();
    this.#state.phase = 'copied';
    this.#effects.push({ type: 'copied' });
  }

  #unconfirmed(reason: string): void {
    if (this.#state.isUnconfirmedReported) return;
    this.#state.isUnconfirmedReported = true;
    this.#effects.push({ type: 'unconfirmed', reason });
  }

  #release(now: number): void {
    if (this.#isSealedCopy) {
      this.#window.clear();
      this.#state.phase = 'released';
    } else this.#abandon('the copy is no longer needed', now);
  }

  // ---- the hand-over

  #decide(): void {
    this.#window.clear();
    this.#state.phase = 'deciding';
    this.#propose();
  }

  #propose(): void {
    const { unit, epoch, source, target } = this.#options.name;
    const handOver: HandOver = { unit, from: epoch, epoch: epoch + 1, primary: target, alive: [source, target] };
    this.#effects.push({ type: 'propose', handOver });
  }

  #decided(event: Extract<SourceEvent<P>, { type: 'decided' }>, now: number): void {
    assert(this.#state.phase === 'deciding', 'a change was proposed');
    const { source } = this.#options.name;
    // The earlier try may still take effect. Only an answered transaction shows the outcome.
    if (event.outcome === 'unknown') this.#propose();
    else if (event.outcome === 'succeeded' || !isSameOwner(event.primary, source)) this.#moved();
    // This try and all earlier ones cannot succeed later: they name a token that no longer exists.
    else this.#giveUp('the target disconnected', now);
  }

  #moved(): void {
    this.#state.phase = 'moved';
    this.#effects.push({ type: 'moved' });
    this.#send({ type: 'moved', name: this.#options.name });
  }

  // ---- the end

  #tick(now: number): void {
    const due = this.nextDeadline();
    if (due === undefined || now < due) return;
    if (this.#state.phase === 'abandoning') this.#connected(now);
    else this.#abandon('the target is silent', now);
  }

  #targetGone(now: number): void {
    const { phase } = this.#state;
    this.#state.isTargetGone = true;
    if (this.isEnded) return;
    if (phase === 'abandoning') this.#state.phase = 'kept';
    else this.#abandon('the target disconnected', now);
  }

  /** Ignored in `deciding`: the target may already lead the unit. Only the store's answer shows it. */
  #abandon(reason: string, now: number): void {
    const { phase } = this.#state;
    if (phase === 'sealing' && this.#isForCopy) this.#unconfirmed(reason);
    else if (phase === 'offering' || phase === 'copying' || phase === 'sealing') this.#giveUp(reason, now);
  }

  /** This pserver continues to lead the unit. It repeats `abandon` until the target answers or loses its token. */
  #giveUp(reason: string, now: number): void {
    this.#window.clear();
    this.#state.phase = this.#state.isTargetGone ? 'kept' : 'abandoning';
    this.#state.heardMs = now;
    this.#effects.push({ type: 'abandoned', reason });
    if (this.isEnded) return;
    this.#send({ type: 'abandon', name: this.#options.name });
  }
}

const beginning = <P>(now: number, position = 0): SourceState<P> => ({
  phase: 'offering',
  captured: 0,
  isCapturing: false,
  copiedAt: 0,
  position,
  isCaughtUpReported: false,
  isHandOverDue: false,
  isUnconfirmedReported: false,
  isTargetGone: false,
  heardMs: now,
  sealingMs: now,
  held: [],
  window: { first: 0, frames: [], sent: 0 },
});
