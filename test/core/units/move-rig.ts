/** Both sides of one move, with a connection between them that can be cut. Time stands still unless a test moves it. */
import type { MoveAnswer, MoveMessage, MoveName } from '../../../src/core/units/move-messages.ts';
import { MoveSource, type SourceEffect, type SourceEvent } from '../../../src/core/units/move-source.ts';
import { MoveTarget, type TargetEffect, type TargetEvent } from '../../../src/core/units/move-target.ts';

export const NAME: MoveName = {
  purpose: 'lead',
  unit: 3,
  epoch: 5,
  source: { index: 0, token: '17' },
  target: { index: 1, token: '29' },
  attempt: 1,
};

export const SHARDS = [3, 11, 19];
export const HEAD = { epoch: NAME.epoch, primary: NAME.source, inSync: [NAME.source] };
export const NEXT_HEAD = { epoch: NAME.epoch + 1, primary: NAME.target, inSync: [NAME.target] };

/** The updates that were applied to a shard, in order. */
type Log = readonly number[];
/** A piece of a log, or one update. */
export type Payload = Log | number;

export const createSource = (windowBytes = 100): MoveSource<Payload> =>
  new MoveSource<Payload>({ name: NAME, shards: SHARDS, windowBytes, silenceMs: 1_000, handOverMs: 3_000 }, 0);

/** It knows the head that it is offered a unit of. */
export function createTarget(): MoveTarget<Payload> {
  const target = new MoveTarget<Payload>({ unit: 3, me: NAME.target, shards: SHARDS, silenceMs: 1_000 });
  target.step({ type: 'seen', head: HEAD, isPrimaryAlive: true }, 0);
  return target;
}

export class MoveRig {
  readonly source: MoveSource<Payload>;
  readonly target = createTarget();
  /** Of the source, by shard; and of the target. */
  readonly logs = new Map<number, Log>(SHARDS.map((shard) => [shard, []]));
  readonly copy = new Map<number, Log>();
  /** On their way. */
  toTarget: MoveMessage<Payload>[] = [];
  toSource: MoveAnswer[] = [];
  /** From connections that were cut: they may still arrive. */
  late: MoveMessage<Payload>[] = [];
  readonly acknowledged: number[] = [];
  /** Types of the other effects. */
  readonly happened: string[] = [];
  readonly #updateBytes: number;
  /** The connection is cut: what is sent is lost. */
  #isCut = false;
  #updates = 0;

  constructor(windowBytes = 100, updateBytes = 10) {
    this.source = createSource(windowBytes);
    this.#updateBytes = updateBytes;
    for (let update = 0; update < 5; update++) this.#apply();
    this.submit({ type: 'connected' });
  }

  get updates(): number {
    return this.#updates;
  }

  /** A trainer pushes. False when the push has to wait. */
  update(): boolean {
    if (!this.source.admits('update')) return false;
    const update = this.#apply();
    this.submit({ type: 'applied', payload: update, byteLength: this.#updateBytes, ticket: update });
    return true;
  }

  submit(event: SourceEvent<Payload>, now = 0): void {
    for (const effect of this.source.step(event, now)) this.#carryOut(effect, now);
  }

  tell(event: TargetEvent<Payload>, now = 0): void {
    for (const effect of this.target.step(event, now)) this.#carryOutAtTarget(effect);
  }

  /** The next message arrives, in either direction. */
  deliver(): void {
    const message = this.toTarget.shift();
    if (message !== undefined) this.#toTarget(message);
  }

  answer(): void {
    const answer = this.toSource.shift();
    if (answer !== undefined) this.submit({ type: 'answer', answer });
  }

  cut(): void {
    this.#isCut = true;
    this.late.push(...this.toTarget);
    this.toTarget = [];
    this.toSource = [];
  }

  connect(): void {
    this.#isCut = false;
    this.submit({ type: 'connected' });
  }

  /** Something from a connection that was cut arrives. */
  deliverLate(at: number): void {
    if (this.late.length > 0) this.#toTarget(this.late[at % this.late.length]!);
  }

  /** Until all has arrived. */
  settle(): void {
    if (this.#isCut) this.connect();
    while (this.toTarget.length + this.toSource.length > 0) {
      this.deliver();
      this.answer();
    }
  }

  #apply(): number {
    const update = this.#updates++;
    for (const [shard, log] of this.logs) this.logs.set(shard, [...log, update]);
    return update;
  }

  #toTarget(message: MoveMessage<Payload>): void {
    this.tell(message.type === 'offer' ? { ...message, refusal: undefined } : message);
  }

  #carryOut(effect: SourceEffect<Payload>, now: number): void {
    if (effect.type === 'send') {
      if (!this.#isCut) this.toTarget.push(effect.message);
    } else if (effect.type === 'acknowledge') this.acknowledged.push(effect.ticket);
    else if (effect.type === 'capture') {
      const log = this.logs.get(effect.shard)!;
      const pieces = [log.slice(0, 2), log.slice(2)].map((payload) => ({ payload, byteLength: 30 }));
      this.submit({ type: 'captured', shard: effect.shard, pieces }, now);
    } else this.happened.push(effect.type);
  }

  #carryOutAtTarget(effect: TargetEffect<Payload>): void {
    if (effect.type === 'answer') {
      if (!this.#isCut) this.toSource.push(effect.answer);
    } else if (effect.type === 'put') {
      const before = effect.isFirst ? [] : this.copy.get(effect.shard)!;
      this.copy.set(effect.shard, [...before, ...(effect.payload as Log)]);
    } else if (effect.type === 'apply') {
      for (const shard of effect.shards) this.copy.set(shard, [...this.copy.get(shard)!, effect.payload as number]);
    } else this.happened.push(effect.type);
  }
}
