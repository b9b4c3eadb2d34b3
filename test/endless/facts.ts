/**
 * Checks the reference after each update against facts that follow from the whole sequence of updates. This is slow,
 * and uses none of the state that the reference keeps.
 */
import { assert } from '../../src/base/assert.ts';
import {
  CANDIDATE_BYTES,
  candidateLimit,
  type JobRules,
  passesOf,
  shardBytes,
  type TableRules,
  updatesOf,
} from './rules.ts';
import { type Cause, Shard, type Table } from './shard.ts';
import { Ledger, nameOf, passOf, type ShardUpdate } from './update.ts';

/** What happened to the ids of a table in one update. */
interface Changes {
  readonly gone: Map<bigint, Cause>;
  readonly refused: Set<bigint>;
}

/** Applies the updates to a new shard, and checks it after each. Counts what it has checked. */
export function checkFacts(rules: JobRules, shard: number, log: readonly ShardUpdate[]): Map<string, number> {
  const facts = new Facts(rules, shard);
  for (const update of log) facts.apply(update);
  return facts.counts;
}

class Facts {
  readonly counts = new Map<string, number>();
  readonly #rules: JobRules;
  readonly #shard: Shard;
  readonly #log: ShardUpdate[] = [];
  /** By table and id: `seq` of the updates that named the id since it was last removed. */
  readonly #named: readonly Map<bigint, number[]>[];
  /** By `seq`: number of passes that were complete after that update. */
  readonly #watermarks: number[] = [0];
  readonly #ledger: Ledger;

  constructor(rules: JobRules, shard: number) {
    this.#rules = rules;
    this.#shard = new Shard(rules, shard);
    this.#named = rules.tables.map(() => new Map());
    this.#ledger = new Ledger(rules.tasks);
  }

  apply(update: ShardUpdate): void {
    const changes = this.#rules.tables.map((): Changes => ({ gone: new Map(), refused: new Set() }));
    this.#shard.observer = {
      changing() {},
      changingBlock() {},
      gone: (table, id, cause) => void changes[table]!.gone.set(id, cause),
      refused: (table, id) => void changes[table]!.refused.add(id),
    };
    const before = this.#shard.state.tables.map(({ rows, candidates }) => ({
      ...{ rows: new Map(rows), candidates: new Map(candidates), lookAt: undefined },
    }));
    const { base } = this.#shard.state;
    this.#shard.apply(update);
    if (this.#shard.state.base > base) this.#count('base moved');
    this.#log.push(update);
    this.#ledger.apply(update);
    this.#watermarks.push(this.#ledger.watermark());
    assert(this.#shard.state.seq === this.#log.length, 'every update counts once');
    this.#rules.tables.forEach((table, number) => {
      const ids = update.type === 'close' ? [] : [...update.tables[number]!.keys()];
      for (const id of ids) this.#named[number]!.set(id, [...(this.#named[number]!.get(id) ?? []), this.#log.length]);
      this.#checkAdmitted(number, update, before[number]!, changes[number]!);
      this.#checkBound(number, table, before[number]!, changes[number]!, new Set(ids));
      this.#checkUnseen(number, table, changes[number]!);
      const { rows, candidates } = this.#now(number);
      // Without a row or a place among the candidates, nothing remembers that an id was named.
      for (const id of [...changes[number]!.gone.keys(), ...ids])
        if (!rows.has(id) && !candidates.has(id)) this.#named[number]!.delete(id);
      this.#checkSeen(number);
    });
  }

  /** Checks that an id gets its row at the update that the admission rule names, and not before. */
  #checkAdmitted(table: number, update: ShardUpdate, before: Table, { gone, refused }: Changes): void {
    if (update.type === 'close') return;
    const { admission } = this.#rules.tables[table]!;
    const { rows, candidates } = this.#now(table);
    for (const id of update.tables[table]!.keys()) {
      if (before.rows.has(id)) {
        assert(rows.has(id) || gone.get(id) === 'unseen', 'a row that an update names stays');
        continue;
      }
      if (gone.has(id)) continue;
      const times = this.#named[table]!.get(id)!.length;
      const isDue =
        admission.type === 'all' ||
        (admission.type === 'count' && times >= admission.min) ||
        (admission.type === 'probability' && this.#rules.draw(table, id, nameOf(update)) < admission.p);
      this.#count(isDue && !refused.has(id) ? 'admitted' : 'not admitted');
      assert(rows.has(id) === (isDue && !refused.has(id)), `id ${id}, named ${times} times, has a row when it is due`);
      if (admission.type !== 'count') assert(candidates.size === 0, 'only counted ids are candidates');
      if (rows.has(id)) assert(!candidates.has(id), 'an id is a row or a candidate');
    }
    for (const id of rows.keys())
      assert(before.rows.has(id) || update.tables[table]!.has(id), 'only updates that name an id make its row');
  }

  /** A shard never has more bytes than its bound; the least recent go first, and the highest new ids stay out. */
  #checkBound(
    table: number,
    rules: TableRules,
    before: Table,
    { gone, refused }: Changes,
    named: ReadonlySet<bigint>,
  ): void {
    const limit = shardBytes(this.#rules, rules);
    const evicted = [...gone].filter(([, cause]) => cause === 'bound').map(([id]) => id);
    if (limit === undefined) {
      assert(evicted.length === 0 && refused.size === 0, 'a table without a bound has room');
      return;
    }
    const { rows, candidates } = this.#now(table);
    const bytes = rows.size * rules.rowBytes + candidates.size * CANDIDATE_BYTES;
    assert(bytes <= limit, `${bytes} bytes are within the bound of ${limit}`);
    assert(candidates.size <= candidateLimit(limit), 'candidates take at most a quarter');
    for (const id of evicted) {
      assert(!named.has(id), 'what an update names is not evicted by it');
      this.#count('evicted for a bound');
      const mine = before.rows.get(id) ?? before.candidates.get(id)!;
      // Candidates may have to go while older rows need not.
      const others = before.rows.has(id) ? [...rows, ...candidates] : [...candidates];
      for (const [other, { seen }] of others) {
        const isLater = seen > mine.seen || (seen === mine.seen && other > id);
        assert(isLater || named.has(other), 'the least recent go first, then the lowest ids');
      }
    }
    this.#checkRefused(table, before, refused, named);
    const areRowsEvicted = evicted.some((id) => before.rows.has(id));
    const couldMoreGo = [...rows.keys(), ...candidates.keys()].some((id) => !named.has(id));
    if (areRowsEvicted && couldMoreGo)
      assert(bytes <= Math.floor((limit * 9) / 10), 'evictions leave room for the next updates');
  }

  /** A bound refuses the highest ids among new rows and among new candidates, and only if nothing else can go. */
  #checkRefused(table: number, before: Table, refused: ReadonlySet<bigint>, named: ReadonlySet<bigint>): void {
    if (refused.size === 0) return;
    const { rows, candidates } = this.#now(table);
    for (const isRow of [true, false]) {
      const out = [...refused].filter((id) => this.#isDueRow(table, id) === isRow);
      if (out.length > 0) this.#count(`${isRow ? 'row' : 'candidate'} refused for a bound`);
      const came = isRow ? [...rows.keys()] : [...candidates.keys()];
      for (const id of came) {
        const isNew = !before.rows.has(id) && (isRow || !before.candidates.has(id)) && !refused.has(id);
        if (isNew)
          assert(
            out.every((other) => id < other),
            'of the new ids the highest stay out',
          );
        if (out.length > 0) assert(named.has(id), 'new ids stay out only when nothing else can go');
      }
    }
  }

  #isDueRow(table: number, id: bigint): boolean {
    const { admission } = this.#rules.tables[table]!;
    return admission.type !== 'count' || this.#named[table]!.get(id)!.length >= admission.min;
  }

  /** Checks that rows go soon after they are due, and that no other rows go. */
  #checkUnseen(table: number, rules: TableRules, { gone }: Changes): void {
    const seq = this.#log.length;
    const oldest = this.#thresholdAt(rules, seq);
    for (const [id, cause] of gone) {
      if (cause !== 'unseen') continue;
      this.#count('evicted as unseen');
      assert(oldest !== undefined && this.#lastNamed(table, id) <= oldest, 'only what is unseen for so long goes');
    }
    // A look that was due `spread` updates ago has been taken by now.
    const due = this.#lastDue(rules, seq - this.#rules.spread);
    const then = due === undefined ? undefined : this.#thresholdAt(rules, due);
    if (then === undefined) return;
    const { rows, candidates } = this.#now(table);
    for (const id of [...rows.keys(), ...candidates.keys()])
      assert(this.#lastNamed(table, id) > then, `id ${id} is unseen since ${then}, and gone`);
  }

  /** The last update at or before `seq` that made a look of the table due. */
  #lastDue(rules: TableRules, seq: number): number | undefined {
    const updates = updatesOf(rules);
    for (let at = seq; at > 0; at--) {
      if (updates !== undefined && at % Math.ceil(updates / 8) === 0) return at;
      if (passesOf(rules) !== undefined && this.#watermarks[at]! > this.#watermarks[at - 1]!) return at;
    }
    return undefined;
  }

  /** Returns the `seq` up to which a row must have been last named to be evicted at update `seq`. */
  #thresholdAt(rules: TableRules, seq: number): number | undefined {
    const updates = updatesOf(rules);
    if (updates !== undefined) return seq - updates;
    const passes = passesOf(rules);
    if (passes === undefined) return undefined;
    const pass = this.#watermarks[seq]! - passes;
    if (pass < 0) return undefined;
    const first = this.#log.slice(0, seq).findIndex((update) => (passOf(update) ?? -1) >= pass);
    return first < 0 ? undefined : first;
  }

  /** The `seen` of rows and candidates is the update that named them last, or what the base has become. */
  #checkSeen(table: number): void {
    const { seq, base } = this.#shard.state;
    assert(seq - base < this.#rules.seenLimit, '`seen` does not overflow');
    const { rows, candidates } = this.#now(table);
    for (const [id, { seen }] of [...rows, ...candidates]) {
      if (seen === 0) continue;
      assert(seen === Math.max(this.#lastNamed(table, id), base), `id ${id} was last named at ${seen}`);
    }
  }

  #lastNamed(table: number, id: bigint): number {
    return this.#named[table]!.get(id)!.at(-1)!;
  }

  #now(table: number): Table {
    return this.#shard.state.tables[table]!;
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}
