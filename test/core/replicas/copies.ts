/** Copies of unit 0 with a network that delivers what a test says, and a store that does what it is told. */
import type {
  HeadProposal,
  ReplicaEffect,
  ReplicaEvent,
  ReplicaOptions,
  UnitHead,
} from '../../../src/core/replicas/events.ts';
import type { LinkName, ReplicaAnswer, ReplicaFrame } from '../../../src/core/replicas/messages.ts';
import { Replica } from '../../../src/core/replicas/replica.ts';
import type { UnitOwner } from '../../../src/core/units/move-messages.ts';

export const SILENCE_MS = 1_000;
export const A: UnitOwner = { index: 0, token: '10' };
export const B: UnitOwner = { index: 1, token: '11' };
export const C: UnitOwner = { index: 2, token: '12' };
export const D: UnitOwner = { index: 3, token: '13' };

export class Copy {
  readonly replica: Replica<string>;
  readonly applied: string[] = [];
  readonly frames: { readonly link: LinkName; readonly frame: ReplicaFrame<string> }[] = [];
  readonly answers: { readonly link: LinkName; readonly answer: ReplicaAnswer }[] = [];
  /** Of the other kinds, in their order. */
  readonly others: ReplicaEffect<string>[] = [];
  nowMs = 0;

  /** `seen`: what the store shows at first. */
  constructor(me: UnitOwner, head: UnitHead, options: Partial<ReplicaOptions> = {}, seen = head) {
    const own = { unit: 0, me, silenceMs: SILENCE_MS, minInSync: 1, ...options };
    const isPrimary = me.index === head.primary.index;
    const state = isPrimary
      ? Replica.taken<string>({ ...head, inSync: [me] }, 0, own)
      : Replica.copied<string>(head, 0);
    this.replica = new Replica(own, state);
    if (!isPrimary) this.step({ type: 'seen', head: seen, isPrimaryAlive: true });
  }

  step(event: ReplicaEvent<string>): void {
    for (const effect of this.replica.step(event, this.nowMs)) {
      if (effect.type === 'send') this.frames.push({ link: effect.link, frame: effect.frame });
      else if (effect.type === 'answer') this.answers.push({ link: effect.link, answer: effect.answer });
      else if (effect.type === 'commit') this.applied.push(effect.update.payload);
      else this.others.push(effect);
    }
  }

  place(...payloads: string[]): void {
    for (const payload of payloads) this.step({ type: 'place', payload });
  }

  /** What was proposed last. */
  get proposal(): HeadProposal | undefined {
    return this.others.findLast((effect) => effect.type === 'propose')?.proposal;
  }

  /** The store makes the proposal so. */
  succeed(): HeadProposal {
    const proposal = this.proposal!;
    this.step({ type: 'decided', from: proposal.from, outcome: 'succeeded' });
    return proposal;
  }

  take<T extends ReplicaEffect<string>['type']>(type: T): Extract<ReplicaEffect<string>, { type: T }>[] {
    return this.others.filter((effect): effect is Extract<ReplicaEffect<string>, { type: T }> => effect.type === type);
  }
}

/** Everything that the primary has sent to the member arrives, and the answers come back, again and again. */
export function exchange(primary: Copy, member: Copy, index: number): void {
  for (;;) {
    const at = primary.frames.findIndex(({ link }) => link.member.index === index);
    if (at === -1) return;
    const [sent] = primary.frames.splice(at, 1);
    member.step({ type: 'frame', ...sent! });
    for (const answer of member.answers.splice(0)) primary.step({ type: 'answer', ...answer });
  }
}

/** All of them in sync: the first leads. */
export function inSync(owners: readonly UnitOwner[], options: Partial<ReplicaOptions> = {}): Copy[] {
  const [first, ...others] = owners;
  const head: UnitHead = { epoch: 1, primary: first!, inSync: [first!] };
  const primary = new Copy(first!, head, options);
  const members = others.map((owner) => {
    const now = primary.proposal?.head ?? head;
    const copy = new Copy(owner, now, options);
    primary.step({ type: 'join', joiner: owner });
    exchange(primary, copy, owner.index);
    primary.succeed();
    return copy;
  });
  const last = primary.proposal?.head ?? head;
  for (const [at, member] of members.entries()) {
    member.step({ type: 'seen', head: last, isPrimaryAlive: true });
    exchange(primary, member, at + 1);
  }
  primary.others.length = 0;
  return [primary, ...members];
}
