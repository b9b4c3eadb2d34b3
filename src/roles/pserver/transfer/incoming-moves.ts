/**
 * All moves of units to this pserver. It receives at most one copy of each unit, and at most `MOST_AT_A_TIME` copies at
 * a time.
 */
import { PaddletError } from '../../../base/errors.ts';
import type { Clock, Log } from '../../../base/seams.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { PlacementView } from '../../../cluster/placement/placement-view.ts';
import type { Signal } from '../../../cluster/waiting.ts';
import type { MoveAnswer, MoveName, UnitOwner } from '../../../core/units/move-messages.ts';
import type { OwnedHead } from '../held/owned-heads.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { MovedRounds } from '../held/unit-rounds.ts';
import { MOST_AT_A_TIME } from '../placement/duties.ts';
import { type CopyKeeper, type FromSource, IncomingMove } from './incoming-move.ts';
import { readHead } from './read-head.ts';

export interface IncomingMovesOptions {
  readonly context: RoleContext;
  readonly clock: Clock;
  readonly log: Log;
  readonly me: UnitOwner;
  readonly owned: OwnedShards;
  readonly view: Pick<PlacementView, 'units' | 'isLive'>;
  readonly silenceMs: number;
  /** In sync mode only. */
  readonly rounds?: MovedRounds | undefined;
  /** Aborts when this pserver loses its index. */
  readonly lost: AbortSignal;
  /** Undefined: this pserver accepts only copies that it is to lead. */
  readonly keeper?: CopyKeeper | undefined;
  /** Why this pserver refuses the unit now; undefined if it accepts the unit. */
  readonly refusal: (unit: number) => string | undefined;
  /** Called once this pserver leads a unit that was moved to it. */
  readonly onLed: (owned: OwnedHead) => void;
  /** Called when this pserver has given up a copy: it may now take the unit in another way. */
  readonly onGivenUp: () => void;
  /** Called with the recovery number at the revision of each head that is read. */
  readonly onRecovery: (number: number) => void;
  /** Notified after each step. */
  readonly stepped: Signal;
  readonly onFatal: (error: unknown) => void;
}

export class IncomingMoves {
  readonly #options: IncomingMovesOptions;
  readonly #moves = new Map<number, IncomingMove>();
  /** Units with an incoming copy → the place that the view showed when it was last checked (`#placeOf`). */
  readonly #coming = new Map<number, string>();

  constructor(options: IncomingMovesOptions) {
    this.#options = options;
  }

  /** Takes a message of the source of a move, and its payload before the first `await`. Throws `BadMessage`. */
  async received(message: FromSource): Promise<readonly MoveAnswer[]> {
    const { unit, source } = nameOf(message);
    const { owned, me } = this.#options;
    const { job } = owned;
    if (unit >= job.units) throw new PaddletError('BadMessage', `unit ${unit}: the job has ${job.units} units`);
    if (source.index === me.index)
      throw new PaddletError('BadMessage', `unit ${unit}: the source of the move is also its target`);
    const move = this.#moveOf(unit);
    if (message.type !== 'offer') return move.received(message);
    // Reads the head from the store: the view may be behind, and the name in an offer proves nothing.
    await this.#look(unit, source.index);
    return move.received({ ...message, refusal: this.#refusal(message.name, move) });
  }

  isComing(unit: number): boolean {
    return this.#coming.has(unit);
  }

  get count(): number {
    return this.#coming.size;
  }

  /** The view has changed: the source of a copy may have lost its index, or the head may name this pserver now. */
  recheck(): void {
    for (const [unit, seen] of this.#coming) {
      const now = this.#placeOf(unit);
      if (now === seen) continue;
      this.#coming.set(unit, now);
      this.#readHeadInBackground(unit);
    }
  }

  /** Gives up all copies that are not sealed. Their sources decide about sealed copies. */
  giveUp(reason: string): void {
    for (const unit of [...this.#coming.keys()]) this.#moveOf(unit).giveUp(reason);
  }

  resumed(): void {
    for (const unit of [...this.#coming.keys()]) this.#moveOf(unit).resumed();
  }

  #moveOf(unit: number): IncomingMove {
    const known = this.#moves.get(unit);
    if (known !== undefined) return known;
    const { context, onFatal, onLed } = this.#options;
    const move = new IncomingMove({
      ...this.#options,
      ...{ unit, onLed },
      look: () => this.#readHeadInBackground(unit),
      onLost: () => {
        const { index } = this.#options.me;
        const text = `${context.keys.head(unit)} names pserver ${index}, which has no complete copy of the unit`;
        onFatal(new PaddletError('LeaseGone', text));
      },
      onStepped: () => this.#stepped(unit),
    });
    this.#moves.set(unit, move);
    return move;
  }

  #stepped(unit: number): void {
    const { owned, stepped, onGivenUp } = this.#options;
    const isComing = this.#moves.get(unit)?.isComing === true;
    if (isComing && !this.#coming.has(unit)) this.#coming.set(unit, this.#placeOf(unit));
    if (!isComing && this.#coming.delete(unit) && owned.heads.of(unit) === undefined) onGivenUp();
    stepped.notify();
  }

  #refusal({ unit, purpose }: MoveName, move: IncomingMove): string | undefined {
    const { owned, refusal, keeper } = this.#options;
    if (purpose === 'copy' && keeper === undefined) return 'it keeps no backup copies';
    const why = refusal(unit);
    if (why !== undefined) return why;
    if (owned.heads.of(unit) !== undefined) return 'it leads the unit';
    if (move.isComing) return undefined;
    const role = keeper?.role(unit) ?? 'none';
    if (role === 'member') return 'it has a copy of the unit';
    // A joining copy makes way for the new one.
    const isPresent = owned.shardsOf(unit).some((shard) => owned.parameters.hasShard(shard));
    if (role === 'none' && isPresent) return 'it is loading the unit';
    return this.#coming.size >= MOST_AT_A_TIME ? `${MOST_AT_A_TIME} units are coming to it already` : undefined;
  }

  async #look(unit: number, index: number): Promise<void> {
    const { context, lost, onRecovery } = this.#options;
    const read = await readHead(context, unit, index, lost);
    if (read === undefined) return;
    // Raise the recovery number before any answer shows the state of this unit.
    onRecovery(read.recovery);
    this.#moveOf(unit).seen(read.owned, read.isPrimaryAlive);
  }

  #readHeadInBackground(unit: number): void {
    const { view, onFatal } = this.#options;
    this.#look(unit, view.units()[unit]?.last ?? 0).catch(onFatal);
  }

  /** The unit's head revision and whether it has an owner, as text: the unit is looked at again when it changes. */
  #placeOf(unit: number): string {
    const place = this.#options.view.units()[unit];
    return `${place?.head?.modRevision} ${place?.owner !== undefined}`;
  }
}

const nameOf = (message: FromSource): MoveName => (message.type === 'frame' ? message.frame.name : message.name);
