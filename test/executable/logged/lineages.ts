/**
 * Replays the logs by the reference, and checks that each state that a process began with, and each state of the final
 * files, is the state of the reference after some logged sequence of updates from the empty shard on.
 *
 * In async mode, a shard may have several timelines: updates after the last file are lost if all copies die. A state is
 * found by its content, so no timeline has to be known beforehand. By induction, all updates behind a found state are
 * in the logs. A state that is not found fails the test.
 */
import { createHash } from 'node:crypto';
import { type Cause, Shard } from '../../endless/shard.ts';
import type { ShardUpdate } from '../../endless/update.ts';
import { type Gradient, linesOf, type ReferenceJob, stateFrom } from './arithmetic.ts';
import type { Segment, ShardRecord } from './segments.ts';
import type { ShardContent } from './update-log.ts';

const SHOWN_LINES = 8;

/** What was checked. */
export class Facts {
  /** Number of states that a process took over: from a file, another process, or another part of itself. */
  takenOver = 0;
  updates = 0;
  closes = 0;
  /** Highest number of timelines that a shard had at one `seq`. */
  timelines = 0;
  /** `table cause` → rows and candidates that went; `table refused` → new ids for which a bound had no room. */
  readonly events = new Map<string, number>();

  count(table: string, what: Cause | 'refused'): void {
    const key = `${table} ${what}`;
    this.events.set(key, (this.events.get(key) ?? 0) + 1);
  }
}

/** `final`: the shards of the last files, each once. */
export function checkLineages(job: ReferenceJob, segments: readonly Segment[], final: readonly ShardContent[]): Facts {
  const facts = new Facts();
  const shards = final.map(({ shard }) => shard).sort((a, b) => a - b);
  const all = Array.from({ length: job.shards }, (_, shard) => shard);
  if (JSON.stringify(shards) !== JSON.stringify(all)) throw new Error(`the files have the shards ${shards}`);
  for (const content of final) {
    const own = segments.filter(({ shard }) => shard === content.shard);
    new Lineages(job, content.shard, facts).check(own, content);
  }
  return facts;
}

/** A state of the reference, and the digest of the updates that led to it. */
interface Known {
  readonly lines: readonly string[];
  readonly updates: string;
}

const NO_UPDATES = '';

class Lineages {
  readonly #job: ReferenceJob;
  readonly #shard: number;
  readonly #facts: Facts;
  /** By `seq`: the states that the reference has had, where some content is to be compared. */
  readonly #known = new Map<number, Known[]>();
  /** By `seq`: digests of all sequences of updates so far. */
  readonly #sequences = new Map<number, Set<string>>();
  #wanted: ReadonlySet<number> = new Set();

  constructor(job: ReferenceJob, shard: number, facts: Facts) {
    this.#job = job;
    this.#shard = shard;
    this.#facts = facts;
  }

  check(segments: readonly Segment[], final: ShardContent): void {
    this.#wanted = new Set([...segments.map(({ start }) => start.seq), final.seq]);
    this.#know(new Shard(this.#job.rules, this.#shard), NO_UPDATES);
    // The longest first: it often contains what others have.
    let open = [...segments].sort((a, b) => a.start.seq - b.start.seq || b.records.length - a.records.length);
    for (let before = Number.POSITIVE_INFINITY; open.length > 0 && open.length < before; ) {
      before = open.length;
      open = open.filter((segment) => !this.#replay(segment));
    }
    for (const { start } of open) this.#fail('the state that a process began with', start);
    if (this.#find(final) === undefined) this.#fail('the final file', final);
    for (const { size } of this.#sequences.values()) this.#facts.timelines = Math.max(this.#facts.timelines, size);
  }

  /** Returns false if no sequence of updates is known that leads to the state at the start. */
  #replay({ start, records }: Segment): boolean {
    const known = this.#find(start);
    if (known === undefined) return false;
    if (start.seq > 0) this.#facts.takenOver += 1;
    if (this.#isReplayed(known, start.seq, records)) return true;
    const shard = new Shard(this.#job.rules, this.#shard, stateFrom(this.#job, start));
    shard.observer = this.#observer();
    let updates = known.updates;
    for (const record of records) {
      for (const update of record.updates()) this.#apply(shard, update);
      if (shard.state.seq !== record.seq)
        throw new Error(`shard ${this.#shard} had ${record.seq} updates, the reference ${shard.state.seq}`);
      updates = after(updates, record);
      this.#know(shard, updates);
    }
    return true;
  }

  #apply(shard: Shard<Gradient>, update: ShardUpdate<Gradient>): void {
    const { ledger } = shard.state;
    if (update.type === 'close') {
      if (ledger.next(update.pass, update.task) === Number.POSITIVE_INFINITY) return;
      this.#facts.closes += 1;
    }
    const positions = update.type === 'push' ? [update.position] : update.type === 'round' ? update.positions : [];
    for (const { pass, task, push } of positions) {
      const next = ledger.next(pass, task);
      if (next !== push)
        throw new Error(`shard ${this.#shard} applied push ${push} of ${pass}/${task} instead of ${next}`);
    }
    shard.apply(update);
    this.#facts.updates += 1;
  }

  /** Whether another segment had the same updates in the same order. */
  #isReplayed(known: Known, seq: number, records: readonly ShardRecord[]): boolean {
    const updates = records.reduce(after, known.updates);
    return records.length > 0 && this.#sequences.get(records.at(-1)?.seq ?? seq)?.has(updates) === true;
  }

  #know(shard: Shard<Gradient>, updates: string): void {
    const { seq } = shard.state;
    const sequences = this.#sequences.get(seq) ?? new Set();
    this.#sequences.set(seq, sequences);
    if (sequences.has(updates)) return;
    sequences.add(updates);
    if (!this.#wanted.has(seq)) return;
    this.#known.set(seq, [...(this.#known.get(seq) ?? []), { lines: linesOf(this.#job, shard), updates }]);
  }

  #find(content: ShardContent): Known | undefined {
    const text = this.#linesOf(content).join('\n');
    return this.#known.get(content.seq)?.find(({ lines }) => lines.join('\n') === text);
  }

  #linesOf = (content: ShardContent): string[] =>
    linesOf(this.#job, { number: this.#shard, state: stateFrom(this.#job, content) });

  #observer() {
    const nameOf = (table: number): string => this.#job.spec.sparse[table]!.name;
    return {
      changing() {},
      changingBlock() {},
      gone: (table: number, _id: bigint, cause: Cause) => this.#facts.count(nameOf(table), cause),
      refused: (table: number) => this.#facts.count(nameOf(table), 'refused'),
    };
  }

  /** Says how the state differs from the nearest one of the reference. */
  #fail(what: string, content: ShardContent): never {
    const lines = this.#linesOf(content);
    const nearest = (this.#known.get(content.seq) ?? [])
      .map((known) => ({ extra: without(lines, known.lines), missing: without(known.lines, lines) }))
      .sort((a, b) => a.extra.length + a.missing.length - b.extra.length - b.missing.length)[0];
    const where = `shard ${this.#shard} after ${content.seq} updates: ${what}`;
    if (nearest === undefined) throw new Error(`${where}: no logged sequence of updates leads to it`);
    const { extra, missing } = nearest;
    const shown = [
      ...extra.slice(0, SHOWN_LINES).map((line) => `  it has:            ${line}`),
      ...missing.slice(0, SHOWN_LINES).map((line) => `  the reference has: ${line}`),
    ];
    throw new Error(`${where}: ${extra.length + missing.length} lines differ\n${shown.join('\n')}`);
  }
}

const after = (updates: string, { digest }: ShardRecord): string =>
  createHash('sha1').update(updates).update(digest).digest('hex');

function without(lines: readonly string[], others: readonly string[]): string[] {
  const set = new Set(others);
  return lines.filter((line) => !set.has(line));
}
