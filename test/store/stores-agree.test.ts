/** Random sequences of operations get the same answers from every store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isPaddletError } from '../../src/base/errors.ts';
import { createClock } from '../../src/host/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { retryUntilAnswered } from '../../src/store/retry-until-answered.ts';
import type { Compare, KeyValue, Op, RangeQuery, Store, Txn, WatchEvent } from '../../src/store/store.ts';
import { EtcdServer, whyNoEtcd } from '../etcd-server.ts';
import * as fc from '../properties.ts';
import { SILENT } from './support.ts';

const clock = createClock();

/** Revisions count from the first one of a run, so that stores which began elsewhere compare equal. */
type Step =
  | { readonly txn: Txn; readonly past: number }
  | { readonly range: RangeQuery }
  | { readonly grant: true }
  | { readonly revoke: number };

const NAMES = ['a', 'a/', 'a/b', 'a0', 'b', 'b/\u{1F600}', 'b/\uFFFD', 'c'];
const name = fc.constantFrom(...NAMES);
const value = fc.constantFrom('', '1', '2');
/** Leases and past revisions are named by number, and resolved when the step runs. */
const op = fc.oneof(
  { weight: 4, arbitrary: fc.record({ put: name, value, leaseId: fc.option(fc.bigInt(0n, 3n), { nil: undefined }) }) },
  { weight: 1, arbitrary: fc.record({ delete: name }) },
  { weight: 1, arbitrary: fc.record({ deletePrefix: name }) },
  { weight: 2, arbitrary: fc.record({ get: name }) },
) as fc.Arbitrary<Op>;
const compare = fc.oneof(
  fc.record({ key: name, createRevision: fc.constantFrom(0n, 1n) }),
  fc.record({ key: name, notCreateRevision: fc.constantFrom(0n, 1n) }),
  fc.record({ key: name, modRevision: fc.constantFrom(0n, 1n) }),
  fc.record({ key: name, value }),
) as fc.Arbitrary<Compare>;
const branch = fc.array(op, { maxLength: 4 }).map(withoutConflicts);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      txn: fc.record({ if: fc.array(compare, { maxLength: 2 }), then: branch, else: branch }),
      past: fc.nat(20),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      range: fc.record(
        { prefix: name, from: name, limit: fc.integer({ min: 1, max: 4 }) },
        { requiredKeys: ['prefix'] },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ grant: true as const }) },
  { weight: 1, arbitrary: fc.record({ revoke: fc.nat(3) }) },
) as fc.Arbitrary<Step>;

/** A key is changed once in a transaction. */
function withoutConflicts(ops: Op[]): Op[] {
  const taken: Op[] = [];
  for (const one of ops) {
    const conflicts = taken.some((other) => {
      if (!('put' in one) && !('put' in other)) return false;
      const [put, rest] = 'put' in one ? [one.put, other] : [(other as { put: string }).put, one];
      if ('put' in rest) return rest.put === put;
      if ('delete' in rest) return rest.delete === put;
      return 'deletePrefix' in rest && put.startsWith(rest.deletePrefix);
    });
    if (!conflicts) taken.push(one);
  }
  return taken;
}

let runs = 0;

/**
 * What the steps get from it; all of them once more, under other keys, when one was given up because the store was
 * slow.
 */
function answersOf(store: Store, steps: readonly Step[]): Promise<unknown[]> {
  return retryUntilAnswered({ clock, log: SILENT, store, signal: new AbortController().signal }, () => {
    runs += 1;
    return tryAnswers(store, steps);
  });
}

/** Everything that a store answers to the steps, and then tells a watch of all of it. */
async function tryAnswers(store: Store, steps: readonly Step[]): Promise<unknown[]> {
  const root = `/agree-${runs}/`;
  const base = (await store.identity()).revision;
  const leases: bigint[] = [];
  const revisions: bigint[] = [];
  const at = (key: string) => root + key;
  const relative = (revision: bigint) => (revision === 0n ? 0n : revision - base);
  const entry = (kv: KeyValue | undefined) =>
    kv && [
      kv.key.slice(root.length),
      kv.value,
      relative(kv.createRevision),
      relative(kv.modRevision),
      leases.indexOf(kv.leaseId),
    ];
  const resolveOp = (one: Op): Op => {
    if ('get' in one) return { get: at(one.get) };
    if ('delete' in one) return { delete: at(one.delete) };
    if ('deletePrefix' in one) return { deletePrefix: at(one.deletePrefix) };
    const leaseId = one.leaseId === undefined ? undefined : leases[Number(one.leaseId)];
    return { put: at(one.put), value: one.value, ...(leaseId === undefined ? {} : { leaseId }) };
  };
  const resolveCompare = (one: Compare, past: number): Compare => {
    const key = at(one.key);
    const revision = revisions.at(-1 - past) ?? 1n;
    if ('createRevision' in one) return { key, createRevision: one.createRevision && revision };
    if ('notCreateRevision' in one) return { key, notCreateRevision: one.notCreateRevision && revision };
    if ('modRevision' in one) return { key, modRevision: one.modRevision && revision };
    return { key, value: one.value };
  };
  const run = async (one: Step): Promise<unknown> => {
    if ('grant' in one) return void leases.push((await store.leaseGrant(600_000)).leaseId);
    if ('revoke' in one) {
      const leaseId = leases[one.revoke];
      return leaseId === undefined ? 'none' : store.leaseRevoke(leaseId);
    }
    if ('range' in one) {
      const { from, ...query } = one.range;
      const range = await store.range({
        ...query,
        prefix: at(query.prefix),
        ...(from === undefined ? {} : { from: at(from) }),
      });
      return [relative(range.revision), range.more, range.entries.map(entry)];
    }
    const answer = await store.txn({
      if: one.txn.if.map((each) => resolveCompare(each, one.past)),
      then: one.txn.then.map(resolveOp),
      else: (one.txn.else ?? []).map(resolveOp),
    });
    revisions.push(answer.revision);
    return [answer.succeeded, relative(answer.revision), answer.results.map(entry)];
  };
  const answers: unknown[] = [];
  for (const one of steps) {
    answers.push(await run(one).catch(failureIn));
  }
  const { revision: end } = await store.txn({ if: [], then: [{ put: at('end'), value: '' }] });
  return [...answers, await historyOf(store, root, base + 1n, end, entry, relative)];
}

/** A refusal is an answer; silence is none. */
function failureIn(error: Error & { code?: string }): string {
  if (isPaddletError(error, 'StoreUnavailable', 'StoreUnknownOutcome')) throw error;
  return `failed: ${error.code ?? String(error)}`;
}

function historyOf(
  store: Store,
  root: string,
  from: bigint,
  until: bigint,
  entry: (kv: KeyValue) => unknown,
  relative: (revision: bigint) => bigint,
): Promise<unknown[]> {
  const history: unknown[] = [];
  const tell = (event: WatchEvent) => (event.type === 'put' ? entry(event.entry) : `-${event.key.slice(root.length)}`);
  return new Promise((resolve, reject) => {
    const cancel = store.watch(root, from, {
      onEvents: (events, revision) => {
        history.push([relative(revision), events.map(tell)]);
        if (revision < until) return;
        cancel();
        resolve(history);
      },
      onEnd: reject,
    });
  });
}

async function expectAgreement(one: Store, other: Store, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      expect(await answersOf(other, steps)).toEqual(await answersOf(one, steps));
    }),
    { numRuns },
  );
}

describe('the stores agree', () => {
  it('memory and SQLite', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'paddlet-agree-'));
    const memory = await openStore('memory:', { clock, log: SILENT });
    const sqlite = await openStore(`sqlite:${join(folder, 'store.db')}`, { clock, log: SILENT });
    onTestFinished(async () => {
      await Promise.all([memory.close(), sqlite.close()]);
      rmSync(folder, { recursive: true });
    });
    await expectAgreement(memory, sqlite, 150);
  });

  const reason = whyNoEtcd();
  it.skipIf(reason !== undefined)(`memory and etcd${reason === undefined ? '' : ` (${reason})`}`, async () => {
    const server = await EtcdServer.start();
    onTestFinished(() => server.stop());
    const memory = await openStore('memory:', { clock, log: SILENT });
    const etcd = await openStore(server.url, { clock, log: SILENT });
    onTestFinished(async () => void (await Promise.all([memory.close(), etcd.close()])));
    await expectAgreement(memory, etcd, 40);
  });
});
