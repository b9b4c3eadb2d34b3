/**
 * The store of a simulated cluster: the real `MemoryStoreData`, reached by each process over a way of its own that can
 * be slow, cut, or lose a request or its answer, so that a write happened, or not, or happens later.
 */
import { PaddletError } from '../../src/base/errors.ts';
import type { Cancel } from '../../src/base/seams.ts';
import { MemoryStoreData } from '../../src/store/memory-store.ts';
import type {
  KeyValue,
  LeaseGrant,
  Op,
  Range,
  RangeQuery,
  Store,
  StoreIdentity,
  Txn,
  TxnResult,
  WatchHandlers,
} from '../../src/store/store.ts';
import type { Dice } from './dice.ts';
import { LeaseClock } from './lease-clock.ts';
import { never, type SimulatedProcess } from './process.ts';
import { DelayedWatch } from './store-watch.ts';
import type { Timeline } from './timeline.ts';

export interface StoreObserver {
  /** A transaction was run for a process, which may be dead by now. `before`: what the keys that it names had. */
  ran(process: SimulatedProcess, txn: Txn, result: TxnResult, before: EntriesBefore): void;
  /** What went wrong on the way, for the count. */
  trouble(kind: StoreTrouble): void;
}

export type PutOp = Extract<Op, { readonly put: string }>;

interface BeforeWrite {
  isMeant(op: PutOp, process: SimulatedProcess): boolean;
  run(process: SimulatedProcess): void;
}

export type EntriesBefore = ReadonlyMap<string, KeyValue | undefined>;

export type StoreTrouble = 'unavailable' | 'unknownLanded' | 'unknownLost' | 'unknownLate' | 'compacted';

export class StoreServer {
  readonly data: MemoryStoreData;
  readonly timeline: Timeline;
  readonly dice: Dice;
  readonly observer: StoreObserver;
  compactions = 0;
  readonly #leaseClock: LeaseClock;
  answerDelayMs = 0;
  readonly #refusals = new Set<{ readonly renewsLeases: boolean; readonly name: string | undefined }>();
  readonly #beforeWrites = new Set<BeforeWrite>();
  #outages = 0;
  readonly #troubles = new Set<{ readonly part: number }>();
  readonly #cutOff = new Map<string, number>();
  #waiting: (() => void)[] = [];

  constructor(timeline: Timeline, dice: Dice, observer: StoreObserver) {
    this.timeline = timeline;
    this.dice = dice;
    this.observer = observer;
    this.#leaseClock = new LeaseClock(timeline);
    this.data = new MemoryStoreData({ clock: this.#leaseClock, historyRevisions: 100_000 });
  }

  isReachable(name: string): boolean {
    return this.#outages === 0 && (this.#cutOff.get(name) ?? 0) === 0;
  }

  /** Unreachable. `leasesRun`: leases expire in that time; otherwise the store itself is paused. */
  outage(leasesRun: boolean): Cancel {
    this.#outages += 1;
    const go = leasesRun ? undefined : this.#leaseClock.pause();
    return () => {
      this.#outages -= 1;
      go?.();
      this.#wake();
    };
  }

  /** One process does not reach it, nor do those that come after it. */
  cutOff(name: string): Cancel {
    this.#cutOff.set(name, (this.#cutOff.get(name) ?? 0) + 1);
    return () => {
      this.#cutOff.set(name, this.#cutOff.get(name)! - 1);
      this.#wake();
    };
  }

  /** Each answer takes so much longer. */
  slowDown(byMs: number): Cancel {
    this.answerDelayMs += byMs;
    return () => {
      this.answerDelayMs -= byMs;
    };
  }

  /** Nothing is written, as when its disk is full. A store that cannot renew leases ends none either. */
  refuseWrites(renewsLeases: boolean, name?: string): Cancel {
    const refusal = { renewsLeases, name };
    this.#refusals.add(refusal);
    const go = renewsLeases ? undefined : this.#leaseClock.pause();
    return () => {
      this.#refusals.delete(refusal);
      go?.();
    };
  }

  refuses(kind: CallKind, name: string): boolean {
    if (kind === 'read' || kind === 'query') return false;
    return [...this.#refusals].some(
      (one) => (one.name === undefined || one.name === name) && (kind === 'write' || !one.renewsLeases),
    );
  }

  /** Runs when a process is about to put that for the first time from now on, until the cancel. */
  onceWriting(isMeant: BeforeWrite['isMeant'], run: BeforeWrite['run']): Cancel {
    const one = { isMeant, run };
    this.#beforeWrites.add(one);
    return () => void this.#beforeWrites.delete(one);
  }

  writing(process: SimulatedProcess, { then }: Txn): void {
    for (const one of this.#beforeWrites) {
      const op = then.find((each): each is PutOp => 'put' in each && one.isMeant(each, process));
      if (op === undefined) continue;
      this.#beforeWrites.delete(one);
      one.run(process);
    }
  }

  /** That part of the calls goes wrong. */
  makeTrouble(part: number): Cancel {
    const trouble = { part };
    this.#troubles.add(trouble);
    return () => void this.#troubles.delete(trouble);
  }

  get trouble(): number {
    let most = 0;
    for (const { part } of this.#troubles) most = Math.max(most, part);
    return most;
  }

  /** Forgets all history: watches that are behind have to start again. */
  compact(): void {
    this.data.compact(this.data.revision);
    this.compactions += 1;
  }

  /** Runs when somebody reaches the store again. */
  onReachable(run: () => void): void {
    this.#waiting.push(run);
  }

  #wake(): void {
    for (const run of this.#waiting.splice(0)) run();
  }
}

const REQUEST_MS = [0.3, 4] as const;
/** A call gives up after so long. */
const CALL_TIMEOUT_MS = 2_000;
/** A write that was given up may still happen so much later. */
const LATE_MS = [50, 5_000] as const;

/** A query is a transaction that only reads. */
type CallKind = 'read' | 'query' | 'write' | 'renewal';

const isTransaction = (kind: CallKind): boolean => kind === 'query' || kind === 'write';

type Fate = 'fine' | 'refused' | 'requestLost' | 'answerLost' | 'late';

/** The connection of one process. */
export class ProcessStore implements Store {
  readonly url = 'simulated:';
  readonly #server: StoreServer;
  readonly #process: SimulatedProcess;
  readonly #cancels = new Set<Cancel>();

  constructor(server: StoreServer, process: SimulatedProcess) {
    this.#server = server;
    this.#process = process;
  }

  identity = (): Promise<StoreIdentity> =>
    this.#call('read', (data) => ({ clusterId: data.clusterId, revision: data.revision }));
  get = (key: string): Promise<KeyValue | undefined> => this.#call('read', (data) => data.get(key));
  range = (query: RangeQuery): Promise<Range> => this.#call('read', (data) => data.range(query));
  leaseGrant = (ttlMs: number): Promise<LeaseGrant> => this.#call('write', (data) => data.leaseGrant(ttlMs));
  leaseKeepAlive = (leaseId: bigint): Promise<{ grantedTtlMs: number }> =>
    this.#call('renewal', (data) => data.leaseKeepAlive(leaseId));
  leaseRevoke = (leaseId: bigint): Promise<void> => this.#call('write', (data) => data.leaseRevoke(leaseId));
  txn = (txn: Txn): Promise<TxnResult> => {
    this.#server.writing(this.#process, txn);
    const isQuery = txn.then.every((op) => 'get' in op);
    return this.#call(isQuery ? 'query' : 'write', (data) => {
      const puts = [...txn.then, ...(txn.else ?? [])].flatMap((op) => ('put' in op ? [op.put] : []));
      const before = new Map(puts.map((key) => [key, data.get(key)]));
      const result = data.txn(txn);
      this.#server.observer.ran(this.#process, txn, result, before);
      return result;
    });
  };

  watch(prefix: string, fromRevision: bigint, handlers: WatchHandlers): Cancel {
    if (!this.#process.operate()) return () => {};
    const watch = new DelayedWatch(this.#server, this.#process, handlers);
    watch.begin(prefix, fromRevision);
    const cancel = (): void => {
      watch.cancel();
      this.#cancels.delete(cancel);
    };
    this.#cancels.add(cancel);
    return cancel;
  }

  async close(): Promise<void> {
    for (const cancel of [...this.#cancels]) cancel();
  }

  #call<T>(kind: CallKind, run: (data: MemoryStoreData) => T): Promise<T> {
    const process = this.#process;
    if (!process.operate()) return never();
    const { timeline } = this.#server;
    return new Promise<T>((resolve, reject) => {
      const answer = (afterMs: number, settle: () => void): void => {
        timeline.after(afterMs, () => process.deliver(settle));
      };
      const leavesAtMs = Math.max(timeline.nowMs, process.processor?.freeAtMs ?? 0);
      const arrive = (): void => this.#arrive(kind, run, { resolve, reject, answer });
      timeline.at(leavesAtMs + process.takes(...REQUEST_MS), arrive);
    });
  }

  #arrive<T>(
    kind: CallKind,
    run: (data: MemoryStoreData) => T,
    to: { resolve(value: T): void; reject(error: unknown): void; answer(afterMs: number, settle: () => void): void },
  ): void {
    const { dice, data, timeline, observer } = this.#server;
    // What a process asked just before it died may not have left it.
    if (this.#process.isDead && dice.chance(0.5)) return;
    const fate = this.#fate(kind);
    const giveUp = (isUnknown: boolean): void => {
      const afterMs = dice.chance(0.5) ? dice.between(20, 200) : CALL_TIMEOUT_MS;
      to.answer(afterMs, () => to.reject(isUnknown ? unknownOutcome() : unavailable()));
    };
    if (this.#server.refuses(kind, this.#process.name)) {
      to.answer(dice.between(1, 50), () => to.reject(unavailable()));
      return;
    }
    if (fate === 'refused' || fate === 'requestLost') {
      const isUnknown = fate === 'requestLost' && isTransaction(kind);
      observer.trouble(isUnknown ? 'unknownLost' : 'unavailable');
      giveUp(isUnknown);
      return;
    }
    if (fate === 'late') {
      observer.trouble('unknownLate');
      timeline.after(dice.between(...LATE_MS), () => attempt(() => run(data)));
      giveUp(true);
      return;
    }
    const outcome = attempt(() => run(data));
    if (fate === 'answerLost') {
      observer.trouble(isTransaction(kind) ? 'unknownLanded' : 'unavailable');
      giveUp(isTransaction(kind));
      return;
    }
    to.answer(this.#process.takes(...REQUEST_MS) + this.#server.answerDelayMs, () => {
      if ('error' in outcome) to.reject(outcome.error);
      else to.resolve(outcome.value);
    });
  }

  #fate(kind: CallKind): Fate {
    const { dice, trouble } = this.#server;
    if (!this.#server.isReachable(this.#process.name)) return dice.chance(0.5) ? 'refused' : 'requestLost';
    if (!dice.chance(trouble)) return 'fine';
    return dice.pick(isTransaction(kind) ? (['refused', 'requestLost', 'answerLost', 'late'] as const) : ['refused']);
  }
}

function attempt<T>(run: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: run() };
  } catch (error) {
    return { error };
  }
}

const unavailable = (): PaddletError => new PaddletError('StoreUnavailable', 'the store does not answer');
const unknownOutcome = (): PaddletError =>
  new PaddletError('StoreUnknownOutcome', 'the store did not answer in time; the write may have happened');
