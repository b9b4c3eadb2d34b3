/**
 * Carries out the effects of the target's state machine, for all moves of one unit to this pserver
 * (`src/core/units/move-target.ts`). It fills the copy. If the head then names this pserver, this pserver leads the
 * unit; a backup copy goes to the `CopyKeeper`.
 */
import { unreachable } from '../../../base/assert.ts';
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { failPoint } from '../../../base/fail-points.ts';
import type { Cancel, Clock, Log } from '../../../base/seams.ts';
import type { MoveAnswer, MoveName, UnitOwner } from '../../../core/units/move-messages.ts';
import { MoveTarget, type TargetEffect, type TargetEvent } from '../../../core/units/move-target.ts';
import type { OwnedHead } from '../held/owned-heads.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import type { MovedRounds } from '../held/unit-rounds.ts';
import type { Update } from '../update/update.ts';
import type { CopyPiece } from './copy-pieces.ts';
import { type FilledCopy, IncomingUnit, type IncomingUnitOptions } from './incoming-unit.ts';
import type { MovePayload } from './outgoing-move.ts';

export type FromSource = Exclude<TargetEvent<MovePayload>, { type: 'seen' | 'failed' | 'tick' | 'resumed' }>;

/** Keeps the backup copies that other pservers make here. */
export interface CopyKeeper {
  /** State of the unit's backup copy here. `joining`: no head names the copy yet, so the next copy may replace it. */
  role(unit: number): 'none' | 'joining' | 'member';
  /** Takes a copy with all updates committed up to `position`. If it cannot keep the copy, frees it and throws. */
  adopt(name: MoveName, filled: FilledCopy, position: number): void;
  /** No head names the copy that this move has made: frees the copy at once, if it is still here. */
  abandoned(name: MoveName): void;
}

export interface IncomingMoveOptions extends Omit<IncomingUnitOptions, 'held' | 'shards' | 'timeline'> {
  readonly clock: Clock;
  readonly log: Log;
  readonly unit: number;
  readonly me: UnitOwner;
  readonly owned: OwnedShards;
  readonly silenceMs: number;
  /** In sync mode only. */
  readonly rounds?: MovedRounds | undefined;
  /** Reads the head and calls `seen`. */
  readonly look: () => void;
  /** The head names this pserver, which has no complete copy of the unit: it must give up its index. */
  readonly onLost: () => void;
  /** Undefined: this pserver accepts only copies that it is to lead. */
  readonly keeper?: CopyKeeper | undefined;
  /** Called once this pserver leads the unit. */
  readonly onLed?: (owned: OwnedHead) => void;
  /** Called after each step: a copy may have been started, completed or discarded. */
  readonly onStepped?: () => void;
}

export class IncomingMove {
  readonly #options: IncomingMoveOptions;
  readonly #machine: MoveTarget<MovePayload>;
  #copy: IncomingUnit | undefined;
  #head: OwnedHead | undefined;
  #answers: MoveAnswer[] = [];
  #cancelTick: Cancel = () => {};

  constructor(options: IncomingMoveOptions) {
    this.#options = options;
    const { owned, unit } = options;
    this.#machine = new MoveTarget({ ...options, shards: owned.shardsOf(unit) });
  }

  /** Whether the machine has a copy that this pserver does not lead yet. */
  get isComing(): boolean {
    return this.#machine.state().copy !== undefined;
  }

  /** A sealed copy is kept until the store shows the primary of the unit, or the source abandons the move. */
  get isSealed(): boolean {
    return this.#machine.state().copy?.isSealed === true;
  }

  /** Takes a message of the source. Returns the answers. */
  received(message: FromSource): MoveAnswer[] {
    const [wasComing, wasSealed] = [this.isComing, this.isSealed];
    const answers = this.#submit(message);
    if (this.isComing && !wasComing) failPoint('move.accepted');
    if (this.isSealed && !wasSealed) failPoint('move.confirmed');
    return answers;
  }

  /** Gives up a copy that is not sealed. */
  giveUp(reason: string): void {
    if (this.isComing && !this.isSealed) this.#submit({ type: 'failed', reason });
  }

  /** Takes the head from the store, and whether the primary's token existed at the same revision. */
  seen(head: OwnedHead, isPrimaryAlive: boolean): void {
    this.#head = head;
    this.#submit({ type: 'seen', head: head.head, isPrimaryAlive });
  }

  /** The process was suspended until now. */
  resumed(): void {
    this.#submit({ type: 'resumed' });
  }

  #submit(event: TargetEvent<MovePayload>): MoveAnswer[] {
    this.#answers = [];
    const now = this.#options.clock.monotonicMs();
    const refused = this.#carryOutAll(this.#machine.step(event, now));
    if (refused !== undefined) {
      this.#carryOutAll(this.#machine.step({ type: 'failed', reason: refused.message }, now));
    }
    this.#scheduleTick(now);
    this.#options.onStepped?.();
    return this.#answers;
  }

  /** Stops at the first effect that fails and returns its error: the later effects assume that it succeeded. */
  #carryOutAll(effects: readonly TargetEffect<MovePayload>[]): PaddletError | undefined {
    try {
      for (const effect of effects) this.#carryOut(effect);
      return undefined;
    } catch (error) {
      if (!isPaddletError(error)) throw error;
      return error;
    }
  }

  #carryOut(effect: TargetEffect<MovePayload>): void {
    switch (effect.type) {
      case 'answer':
        this.#answers.push(effect.answer);
        break;
      case 'put': {
        const { shard, payload, isFirst, isLast } = effect;
        this.#copy ??= this.#begun();
        this.#copy.put(shard, asPiece(payload), isFirst, isLast);
        if (isLast && shard === this.#options.owned.shardsOf(this.#options.unit).at(-1)) failPoint('move.filled');
        break;
      }
      case 'apply':
        this.#copy!.apply(effect.shards, asUpdate(effect.payload));
        break;
      case 'lead':
        this.#lead();
        break;
      case 'copied':
        this.#keep(effect.name, effect.position);
        break;
      case 'abandoned':
        this.#options.keeper!.abandoned(effect.name);
        break;
      case 'discard':
        this.#options.log.info(`the copy of unit ${this.#options.unit} is discarded: ${effect.reason}`);
        this.#copy?.discard();
        this.#copy = undefined;
        break;
      case 'look':
        this.#options.look();
        break;
      case 'lost':
        this.#options.onLost();
        break;
      default:
        unreachable(effect);
    }
  }

  #begun(): IncomingUnit {
    const { owned, rounds } = this.#options;
    return new IncomingUnit({
      ...{ held: owned.beside(), shards: owned.shardsOf(this.#options.unit) },
      timeline: rounds && (() => rounds.timeline()),
    });
  }

  #lead(): void {
    const { owned, unit, log, onLed, rounds } = this.#options;
    const state = this.#copy!.rounds();
    if (rounds !== undefined && state?.timeline !== rounds.timeline()) {
      this.#copy!.discard();
      rounds.outdated(this.#head!);
    } else {
      owned.add(this.#head!, this.#copy!.positions(), true);
      rounds?.add(unit, state!);
    }
    this.#copy = undefined;
    failPoint('move.leading');
    log.info(`unit ${unit} is led by this pserver now`);
    onLed?.(this.#head!);
  }

  #keep(name: MoveName, position: number): void {
    const { keeper, log, rounds } = this.#options;
    const copy = this.#copy!;
    if (rounds !== undefined && copy.rounds()?.timeline !== rounds.timeline())
      throw new PaddletError('BadMessage', 'the copy is of another timeline');
    keeper!.adopt(name, copy.filled(), position);
    this.#copy = undefined;
    log.info(`unit ${name.unit} has a backup copy here`, { source: name.source.index, position });
  }

  #scheduleTick(now: number): void {
    this.#cancelTick();
    const due = this.#machine.nextDeadline();
    if (due === undefined) return;
    this.#cancelTick = this.#options.clock.after(Math.max(0, due - now), () => this.#submit({ type: 'tick' }));
  }
}

function asPiece(payload: MovePayload): CopyPiece {
  if ('header' in payload) return payload;
  throw new PaddletError('BadMessage', 'expected a piece of a shard, got an update');
}

function asUpdate(payload: MovePayload): Update {
  if ('type' in payload) return payload;
  throw new PaddletError('BadMessage', 'expected an update, got a piece of a shard');
}
