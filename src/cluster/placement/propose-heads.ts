/**
 * Carries out what copies of units propose about their heads (docs/copies.md): of many units at one moment, as when
 * a pserver dies. Proposals that need the same processes to be alive or gone share transactions. What is refused holds
 * up nothing else, and nothing waits for the answer about others.
 */
import { assert } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import type { HeadProposal, Outcome } from '../../core/replicas/events.ts';
import type { UnitOwner } from '../../core/units/move-messages.ts';
import type { Keys } from '../../store/keys.ts';
import type { Compare } from '../../store/store.ts';
import { type ChangedHead, type ChangeHeads, changeHeads, mostTogether } from './change-heads.ts';
import type { Head } from './heads.ts';

/** A head as the store has it. */
export interface StoredHead {
  readonly unit: number;
  readonly head: Head;
  readonly modRevision: bigint;
}

export interface ProposedHead {
  /** The head from which the proposal was made. */
  readonly from: StoredHead;
  readonly proposal: HeadProposal;
}

export interface DecidedHead {
  /** What the machine of the copy gets: `decided`. */
  readonly from: number;
  readonly outcome: Exclude<Outcome, { outcome: 'unknown' }>;
  /** As it is now: what was made, or what the transaction read. */
  readonly now: StoredHead;
}

export interface ProposeHeads extends Omit<ChangeHeads, 'also'> {
  /** Called once for each proposal, as soon as it is decided. */
  readonly onDecided: (decided: DecidedHead) => void;
}

/**
 * Resolves when all are decided. A transaction is repeated until the store answers it, as an attempt before may still
 * land. Throws like `changeHeads`; then the outcomes that were not reported are unknown.
 */
export async function proposeHeads(by: ProposeHeads, proposed: readonly ProposedHead[]): Promise<void> {
  const [resting, others] = [proposed.filter(isRefused), proposed.filter((one) => !isRefused(one))];
  for (const { from, proposal } of resting) by.onDecided(decidedOf(proposal, false, from));
  const alike = Map.groupBy(others, ({ proposal: { alive, gone } }) => JSON.stringify([alive, gone].map(namesOf)));
  const made = [...alike.values()].flatMap((group) => makeAlike(by, group));
  const failed = (await Promise.allSettled(made)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** While a file is the last state of a unit, its owner has left it by a clean stop: no copy takes over. */
const isRefused = ({ from, proposal }: ProposedHead): boolean =>
  proposal.kind === 'promote' && from.head.rest !== undefined;

const namesOf = (owners: readonly UnitOwner[]): string[] =>
  owners.map(({ index, token }) => `${index}/${token}`).sort();

/** Proposals with the same compares: as few transactions as the store allows, all sent at once. */
function makeAlike(by: ProposeHeads, group: readonly ProposedHead[]): Promise<void>[] {
  const also = comparesOf(by.context.keys, group[0]!.proposal);
  const atOnce = mostTogether(also);
  return Array.from({ length: Math.ceil(group.length / atOnce) }, (_, at) =>
    makeTogether({ ...by, also }, group.slice(at * atOnce, (at + 1) * atOnce)),
  );
}

/** A token is never given again: a process that has lost its index never gets that token back. */
const comparesOf = (keys: Keys, { alive, gone }: HeadProposal): Compare[] => [
  ...alive.map(({ index, token }) => ({ key: keys.ps(index), createRevision: BigInt(token) })),
  ...gone.map(({ index, token }) => ({ key: keys.ps(index), notCreateRevision: BigInt(token) })),
];

async function makeTogether(by: ProposeHeads & ChangeHeads, group: readonly ProposedHead[]): Promise<void> {
  const changes = group.map(({ from, proposal }) => {
    const { unit, modRevision } = from;
    assert(from.head.epoch === proposal.from, `the proposal for unit ${unit} is made of the head that was read`);
    return { unit, modRevision, head: headAfter(from.head, proposal) };
  });
  const changed = await changeHeads(by, changes);
  for (const [at, { proposal }] of group.entries()) {
    by.onDecided(decidedOf(proposal, changed[at]!.isMade, storedIn(by, changed[at]!)));
  }
}

/**
 * A file that has all that was ever applied stays that when copies come and go. Who begins to lead may apply something
 * at once: then no file is the last state.
 */
function headAfter({ led, rest }: Head, { kind, head: { epoch, primary, inSync } }: HeadProposal): Head {
  const members = [...inSync];
  if (kind === 'handOver' || kind === 'promote') return { epoch, led: epoch, primary, inSync: members };
  return { epoch, led, primary, inSync: members, ...(rest === undefined ? {} : { rest }) };
}

function decidedOf({ from }: HeadProposal, isMade: boolean, now: StoredHead): DecidedHead {
  const { epoch, primary, inSync } = now.head;
  const failed = { outcome: 'failed' as const, head: { epoch, primary, inSync } };
  return { from, outcome: isMade ? { outcome: 'succeeded' } : failed, now };
}

/** Only a person deletes the head of a unit that a process with a claim has a copy of. */
function storedIn({ context }: ChangeHeads, { unit, head, modRevision }: ChangedHead): StoredHead {
  if (head !== undefined) return { unit, head, modRevision };
  throw new PaddletError(
    'StoreValueInvalid',
    `${context.keys.head(unit)}: the head of the unit was removed from the store`,
  );
}
