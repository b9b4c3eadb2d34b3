/** Sees everything that happens in a simulated cluster from outside: counts it, and says what must never happen. */

import { isPaddletError } from '../../src/base/errors.ts';
import type { Cancel } from '../../src/base/seams.ts';
import type { ReplyHeader, RequestHeader } from '../../src/protocol/messages/all-messages.ts';
import type { Keys } from '../../src/store/keys.ts';
import type { Op, Txn, TxnResult } from '../../src/store/store.ts';
import { LiveAttempts } from './live-attempts.ts';
import type { Answered, Oracle } from './oracles/oracle.ts';
import type { SimulatedProcess } from './process.ts';
import type { EntriesBefore, StoreObserver, StoreTrouble } from './store.ts';

export type Tell = (who: string, what: string) => void;

/** Log lines of the roles that stand for something worth counting. */
const LOGGED: readonly (readonly [RegExp, string])[] = [
  [/^training: task \d+ is returned to the queue/, 'requeued task'],
  [/^training: task \d+ is copied to/, 'speculated task'],
  [/^suspended:/, 'suspension'],
  [/^resumed:/, 'resumption'],
  [/^lane \d+ of round \d+ is late: /, 'late lane'],
  [/^CheckpointCorrupt: |^the cut of round \d+ is damaged/, 'corrupt checkpoint refused'],
  [
    /^the (checkpoint could not be written|parting snapshot is lost|(last )?cut .*not written)/,
    'checkpoint not written',
  ],
  [/^all keys and files of pserver/, 'pserver left nothing'],
  [/^delta .* published$/, 'delta'],
  [/^the pservers save, so that files of pservers that left/, 'save for one that left'],
  [/: AttemptNotLive|is not live; dropped/, 'attempt refused'],
];

type Ends = Extract<RequestHeader, { type: 'finishTasks' }>;
type Refusals = Extract<ReplyHeader, { type: 'finishTasks' }>;

export class Witness implements StoreObserver {
  readonly counts = new Map<string, number>();
  readonly violations: string[] = [];
  readonly tell: Tell;
  readonly #keys: Keys;
  readonly #attempts: LiveAttempts;
  #lockOwner: SimulatedProcess | undefined;
  #locks = 0;
  #results = 0;
  #timeline = 0;
  #oracles: readonly Oracle[] = [];
  readonly #trainers = new Set<string>();
  readonly #onMoving = new Set<(seen: Answered) => void>();
  /** The latest life of each pserver that applied a push. */
  readonly #applying = new Map<string, number>();

  constructor(keys: Keys, tell: Tell) {
    this.#keys = keys;
    this.tell = tell;
    this.#attempts = new LiveAttempts(keys);
  }

  /** From now on these are told of everything, too. */
  consult(oracles: readonly Oracle[]): void {
    this.#oracles = oracles;
  }

  ended(process: SimulatedProcess, code: number): void {
    for (const oracle of this.#oracles) oracle.ended?.(process, code);
  }

  removed(index: number, path: string): void {
    for (const oracle of this.#oracles) oracle.removed?.(index, path);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  violated(what: string): void {
    this.violations.push(what);
    this.tell('WITNESS', `VIOLATION: ${what}`);
  }

  logged(who: string, level: string, message: string, facts?: { readonly from?: unknown }): void {
    if (String(facts?.from).includes('delta ')) this.count('deltas loaded');
    for (const [pattern, what] of LOGGED) if (pattern.test(message)) this.count(what);
    if (level !== 'debug') this.tell(who, `${level === 'info' ? '' : `${level}: `}${message}`);
  }

  /** The job goes on after its result. */
  continued(): void {
    this.#results = 0;
    this.count('continued job');
  }

  trouble(kind: StoreTrouble): void {
    this.count(`store ${kind}`);
  }

  bug(process: SimulatedProcess, error: unknown): void {
    this.violated(`${process.name} met a bug: ${error instanceof Error ? error.stack : String(error)}`);
  }

  ran(
    process: SimulatedProcess,
    { then, else: otherwise = [] }: Txn,
    { succeeded }: TxnResult,
    before: EntriesBefore,
  ): void {
    for (const op of succeeded ? then : otherwise) {
      if ('get' in op) continue;
      this.#wrote(process, op);
      if (!('put' in op)) continue;
      const written = { process, key: op.put, value: op.value, before: before.get(op.put) };
      for (const oracle of this.#oracles) oracle.wrote?.(written);
    }
    if (succeeded) return;
    for (const op of then) {
      if (!('put' in op)) continue;
      for (const oracle of this.#oracles) oracle.refused?.({ process, key: op.put, value: op.value });
    }
  }

  #wrote(process: SimulatedProcess, op: Exclude<Op, { readonly get: string }>): void {
    const keys = this.#keys;
    const key = 'put' in op ? op.put : 'delete' in op ? op.delete : op.deletePrefix;
    if (key === keys.masterLock && 'put' in op) {
      this.#lockOwner = process;
      this.#locks += 1;
      if (this.#locks > 1) this.count('takeover');
      this.tell(process.name, 'takes the master lock');
    }
    if (key.startsWith(keys.tasksPrefix) || key === keys.clusterStatus || key === keys.masterAddr) {
      if (process !== this.#lockOwner) this.violated(`${process.name} wrote ${key} without the lock`);
    }
    if (!('put' in op)) return;
    const wrong = this.#attempts.wrote(key, op.value);
    if (wrong !== undefined) this.violated(`${process.name}: ${wrong}`);
    if (key === keys.result) {
      this.#results += 1;
      this.tell(process.name, `writes the result: ${op.value}`);
      if (this.#results > 1) this.violated('the result was written twice');
    } else if (key.startsWith(keys.trainersPrefix)) {
      if (this.#trainers.has(key)) this.count('registration again');
      this.#trainers.add(key);
    } else if (key.startsWith(keys.discardedPrefix)) this.count('discarded task');
    else if (key === keys.recovery) this.count('recovery');
    else if (key === keys.cut) this.#cut(op.value);
    else if (key.startsWith(keys.checkpointsPrefix)) this.count('checkpoint');
    else if (key.startsWith(keys.parting(0n).slice(0, -1))) this.count('parting snapshot');
  }

  /** Calls it at the next message of a move, until the cancel. */
  onceMoving(run: (seen: Answered) => void): Cancel {
    this.#onMoving.add(run);
    return () => void this.#onMoving.delete(run);
  }

  answered(seen: Answered): void {
    if (this.#onMoving.size > 0 && 'move' in seen.request) {
      const runs = [...this.#onMoving];
      this.#onMoving.clear();
      for (const run of runs) run(seen);
    }
    for (const oracle of this.#oracles) oracle.answered?.(seen);
    const { server, request, outcome } = seen;
    if (isPaddletError(outcome)) {
      this.count(`refused ${outcome.code}`);
      return;
    }
    if (outcome.type === 'getTasks' && request.type === 'getTasks') {
      for (const task of outcome.tasks ?? []) this.#attempts.dealt({ ...task, trainer: request.trainer });
      if ((outcome.tasks?.length ?? 0) > 1) this.count('several tasks dealt at once');
    }
    if (request.type === 'push' && outcome.type === 'push') this.#pushed(server, outcome.outcome);
    if (outcome.type === 'pushLane') this.count(`${outcome.outcome} lane`);
    if (request.type === 'finishTasks' && outcome.type === 'finishTasks') this.#finished(server, request, outcome);
  }

  #finished(server: SimulatedProcess, { trainer, ends }: Ends, { refused }: Refusals): void {
    if (ends.length > 1) this.count('several tasks finished at once');
    for (const { error } of refused) this.count(`refused ${error.code}`);
    for (const [at, end] of ends.entries()) {
      if (refused.some((one) => one.at === at)) continue;
      this.count('finished task');
      if (this.#attempts.mayFinish({ ...end, trainer })) continue;
      const { task, pass, attempt } = end;
      const which = `the end of attempt ${attempt} of task ${task}, pass ${pass}, by ${trainer}`;
      this.violated(`${server.name} accepted ${which}: not live`);
    }
  }

  #cut(value: string): void {
    const { timeline, round } = JSON.parse(value) as { timeline: number; round: number };
    this.count(timeline > this.#timeline ? 'rollback' : 'complete cut');
    if (timeline > this.#timeline && round > 0) this.count('rollback to a cut');
    if (timeline < this.#timeline) this.violated(`the timeline went back from ${this.#timeline} to ${timeline}`);
    this.#timeline = timeline;
  }

  #pushed(server: SimulatedProcess, outcome: string): void {
    this.count(`${outcome} push`);
    if (outcome !== 'applied') return;
    const latest = this.#applying.get(server.name) ?? 0;
    if (server.life < latest)
      this.violated(`${server.name} applied a push in life ${server.life} after life ${latest}`);
    this.#applying.set(server.name, Math.max(latest, server.life));
  }
}
