/** What copies propose about their heads: in few transactions, each only on what it was made of. */
import { beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '../../../src/base/limits.ts';
import { type Head, type Owner, parseHead } from '../../../src/cluster/placement/heads.ts';
import {
  type DecidedHead,
  type ProposedHead,
  proposeHeads,
  type StoredHead,
} from '../../../src/cluster/placement/propose-heads.ts';
import type { HeadProposal } from '../../../src/core/replicas/events.ts';
import { without } from '../../../src/core/replicas/messages.ts';
import type { MemoryStoreData } from '../../../src/store/memory-store.ts';
import { aStore, Master } from '../../roles/master/tasks/service-rig.ts';
import { failureOf } from '../../store/support.ts';

const REST = { index: 0, uuid: '504ec9a6-7a47-4c17-9e1b-7a364a8cfbe0' };

let data: MemoryStoreData;
let actor: Master;
let me: Owner;
let other: Owner;
let decided: DecidedHead[];

beforeEach(() => {
  const store = aStore();
  data = store.data;
  actor = new Master(store.clock, data);
  me = { index: 0, token: actor.fence.token.toString() };
  other = claim(1);
  decided = [];
});

/** The index gets another process. */
function claim(index: number): Owner {
  const key = actor.context.keys.ps(index);
  data.txn({ if: [], then: [{ delete: key }] });
  const { revision } = data.txn({ if: [], then: [{ put: key, value: 'an address' }] });
  return { index, token: revision.toString() };
}

const die = ({ index }: Owner): unknown => data.txn({ if: [], then: [{ delete: actor.context.keys.ps(index) }] });
const keyOf = (unit: number): string => actor.context.keys.head(unit);
const headOf = (unit: number): Head => parseHead(keyOf(unit), data.get(keyOf(unit))!.value);

function put(unit: number, head: Head): StoredHead {
  const { revision } = data.txn({ if: [], then: [{ put: keyOf(unit), value: JSON.stringify(head) }] });
  return { unit, head, modRevision: revision };
}

const led = (unit: number, by: Owner, more: Partial<Head> = {}): StoredHead =>
  put(unit, { epoch: 5, led: 3, primary: by, inSync: [by], ...more });

type Change = Partial<Pick<HeadProposal, 'alive' | 'gone'>> & Partial<Pick<Head, 'primary' | 'inSync'>>;

function propose(from: StoredHead, kind: HeadProposal['kind'], change: Change): ProposedHead {
  const { epoch, primary, inSync } = from.head;
  const { alive = [], gone = [], ...changed } = change;
  return {
    from,
    proposal: { kind, from: epoch, head: { epoch: epoch + 1, primary, inSync, ...changed }, alive, gone },
  };
}

const promotion = (from: StoredHead): ProposedHead => {
  const { primary, inSync } = from.head;
  return propose(from, 'promote', { primary: me, inSync: without(inSync, primary), gone: [primary] });
};
const addition = (from: StoredHead, joiner: Owner): ProposedHead =>
  propose(from, 'add', { inSync: [...from.head.inSync, joiner], alive: [joiner] });
const removal = (from: StoredHead, member: Owner): ProposedHead =>
  propose(from, 'remove', { inSync: without(from.head.inSync, member) });
const handOver = (from: StoredHead, to: Owner): ProposedHead => propose(from, 'handOver', { primary: to, alive: [to] });

const send = (proposed: readonly ProposedHead[]): Promise<void> =>
  proposeHeads({ context: actor.context, fence: actor.fence, onDecided: (one) => void decided.push(one) }, proposed);

/** With time passing, as a retry waits for it. */
async function made(proposed: readonly ProposedHead[]): Promise<Map<number, DecidedHead>> {
  const sent = send(proposed);
  sent.catch(() => {});
  for (let i = 0; i < 5; i++) await actor.clock.advance(1_000);
  await sent;
  expect(decided).toHaveLength(proposed.length);
  return new Map(decided.map((one) => [one.now.unit, one]));
}

const outcomes = (all: ReadonlyMap<number, DecidedHead>): [number, string][] =>
  [...all].map(([unit, { outcome }]): [number, string] => [unit, outcome.outcome]).sort(([a], [b]) => a - b);
const writes = (): number[] => actor.troubled.writes.map(({ txn }) => txn.then.length);

describe('a pserver that dies', () => {
  const members = (): Pick<Head, 'inSync'> => ({ inSync: [other, me] });

  it('leaves its units to another in as few transactions as the store allows', async () => {
    const many = 2 * LIMITS.storeTxnOps;
    const heads = Array.from({ length: many }, (_, unit) => led(unit, other, members()));
    die(other);
    const all = await made(heads.map(promotion));
    expect(outcomes(all).every(([, outcome]) => outcome === 'succeeded')).toBe(true);
    expect(writes()).toEqual([LIMITS.storeTxnOps - 2, LIMITS.storeTxnOps - 2, 4]);
    expect(headOf(many - 1)).toEqual({ epoch: 6, led: 6, primary: me, inSync: [me] });
    expect(all.get(0)!.now).toEqual({ unit: 0, head: headOf(0), modRevision: data.get(keyOf(0))!.modRevision });
  });

  it('leaves nothing to others while it has its index', async () => {
    const all = await made([promotion(led(0, other, members()))]);
    const head = { epoch: 5, primary: other, inSync: [other, me] };
    expect(all.get(0)).toMatchObject({ from: 5, outcome: { outcome: 'failed', head } });
    expect(headOf(0).epoch).toBe(5);
  });

  it('is gone as well when another process has its index', async () => {
    const from = led(0, other, members());
    claim(other.index);
    expect(outcomes(await made([promotion(from)]))).toEqual([[0, 'succeeded']]);
  });

  it('leaves to the next one only what it has not left by a clean stop', async () => {
    const heads = [led(0, other, { ...members(), rest: REST }), led(1, other, members())];
    die(other);
    const all = await made(heads.map(promotion));
    expect(outcomes(all)).toEqual([
      [0, 'failed'],
      [1, 'succeeded'],
    ]);
    expect(headOf(0)).toEqual(heads[0]!.head);
    expect(all.get(0)!.now).toEqual(heads[0]);
  });
});

describe('what is refused', () => {
  it('holds up nothing that was proposed with it', async () => {
    const heads = [0, 1, 2].map((unit) => led(unit, me));
    const newer = put(1, { ...heads[1]!.head, epoch: 6, primary: other });
    const all = await made(heads.map((from) => addition(from, other)));
    expect(outcomes(all)).toEqual([
      [0, 'succeeded'],
      [1, 'failed'],
      [2, 'succeeded'],
    ]);
    expect(all.get(1)!.outcome).toEqual({ outcome: 'failed', head: { epoch: 6, primary: other, inSync: [me] } });
    expect(all.get(1)!.now).toEqual(newer);
  });

  it('for a process that has lost its index leaves what needs others', async () => {
    const third = claim(2);
    const heads = [0, 1].map((unit) => led(unit, me));
    die(other);
    const all = await made([addition(heads[0]!, other), addition(heads[1]!, third)]);
    expect(outcomes(all)).toEqual([
      [0, 'failed'],
      [1, 'succeeded'],
    ]);
    expect(headOf(0)).toEqual(heads[0]!.head);
  });

  it('is told while others wait for the store', async () => {
    const third = claim(2);
    const heads = [0, 1].map((unit) => led(unit, me));
    actor.troubled.next('unknownLost');
    const sent = send([addition(heads[0]!, other), addition(heads[1]!, third)]);
    await actor.clock.advance(0);
    expect(decided.map(({ now }) => now.unit)).toEqual([1]);
    await actor.clock.advance(1_000);
    await sent;
    expect(decided.map(({ now }) => now.unit)).toEqual([1, 0]);
  });

  it('ends everything when the claim of the actor is gone', async () => {
    const heads = [0, 1].map((unit) => led(unit, me));
    data.txn({ if: [], then: [{ delete: actor.fence.key }] });
    const failure = await failureOf(send(heads.map((from) => addition(from, other))));
    expect(failure).toMatchObject({ code: 'LeaseGone' });
    expect([decided, headOf(0).epoch]).toEqual([[], 5]);
  });

  it('ends in an error when somebody has deleted the head', async () => {
    const from = led(0, me);
    data.txn({ if: [], then: [{ delete: keyOf(0) }] });
    expect(await failureOf(send([addition(from, other)]))).toMatchObject({ code: 'StoreValueInvalid' });
  });
});

describe('an unknown outcome', () => {
  it('is settled by a transaction that is answered: what was tried before cannot land any more', async () => {
    const from = led(0, me, { inSync: [me, other] });
    actor.troubled.next('unknownLate');
    const all = await made([removal(from, other)]);
    expect(outcomes(all)).toEqual([[0, 'succeeded']]);
    expect(actor.troubled.landLate()).toEqual([false]);
    expect(headOf(0)).toEqual({ epoch: 6, led: 3, primary: me, inSync: [me] });
  });

  it('of an attempt that landed counts as made', async () => {
    actor.troubled.next('unknownLanded');
    const all = await made([addition(led(0, me), other)]);
    expect(outcomes(all)).toEqual([[0, 'succeeded']]);
    expect(headOf(0).epoch).toBe(6);
  });

  it('of a copy that dies in between is that it was not taken', async () => {
    const from = led(0, me);
    actor.troubled.next('unknownLate');
    const sent = send([addition(from, other)]);
    await actor.clock.advance(0);
    die(other);
    await actor.clock.advance(1_000);
    await sent;
    expect(decided[0]!.outcome.outcome).toBe('failed');
    expect(actor.troubled.landLate()).toEqual([false]);
    expect(headOf(0)).toEqual(from.head);
  });

  it('of a unit that was handed over tells who leads it by now', async () => {
    const from = led(0, me, { inSync: [me, other] });
    actor.troubled.next('unknownLanded');
    const sent = send([handOver(from, other)]);
    await actor.clock.advance(0);
    const next = put(0, { ...headOf(0), epoch: 7, inSync: [other] });
    await actor.clock.advance(1_000);
    await sent;
    expect(decided[0]).toMatchObject({ outcome: { outcome: 'failed', head: { epoch: 7, primary: other } }, now: next });
  });
});

describe('the other fields of a head', () => {
  it('stay as they are when copies come and go', async () => {
    const heads = [led(0, me, { rest: REST }), led(1, me, { rest: REST, inSync: [me, other] })];
    await made([addition(heads[0]!, other), removal(heads[1]!, other)]);
    expect(headOf(0)).toEqual({ epoch: 6, led: 3, primary: me, inSync: [me, other], rest: REST });
    expect(headOf(1)).toEqual({ epoch: 6, led: 3, primary: me, inSync: [me], rest: REST });
  });

  it('are those of the next primary when a unit is handed over: it may apply something at once', async () => {
    await made([handOver(led(0, me, { rest: REST, inSync: [me, other] }), other)]);
    expect(headOf(0)).toEqual({ epoch: 6, led: 6, primary: other, inSync: [me, other] });
  });
});
