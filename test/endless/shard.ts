/**
 * The reference: one shard, in plain words. What it admits, evicts and remembers is a function of its own sequence of
 * updates and of nothing else (docs/decisions/0168).
 */
import {
  afterEvictions,
  CANDIDATE_BYTES,
  candidateLimit,
  delayOf,
  isTracked,
  type JobRules,
  moveMargin,
  passesOf,
  shardBytes,
  type TableRules,
  updatesOf,
  type Values,
} from './rules.ts';
import { type Gradients, Ledger, nameOf, passOf, type ShardUpdate } from './update.ts';

export interface Row {
  readonly values: Values;
  /** Updates of the row. */
  readonly steps: number;
  /** `seq` of the last update that named the row; not below the base of the shard. 0 in a table without `seen`. */
  readonly seen: number;
}

/** An id that has no row yet. `count`: updates that named it, less than the `min` of the table. */
export interface Candidate {
  readonly count: number;
  readonly seen: number;
}

export interface Table {
  readonly rows: Map<bigint, Row>;
  readonly candidates: Map<bigint, Candidate>;
  /** `seq` of the update that looks for what is unseen for too long; undefined: no look is due. */
  lookAt: number | undefined;
}

export interface Block {
  readonly values: Values;
  readonly seen: number;
}

export interface ShardState {
  /** Updates applied. */
  seq: number;
  /** The `seq` from which the stored `seen` counts. */
  base: number;
  /** `seq` of the update that moves the base. */
  moveAt: number | undefined;
  /** By pass: `seq` before the first push or round of that pass or a later one. */
  readonly begins: Map<number, number>;
  readonly ledger: Ledger;
  readonly tables: readonly Table[];
  readonly blocks: Map<number, Block>;
}

export type Cause = 'unseen' | 'bound';

/** Learns about changes before or after they happen. The view of a cut, the list of gone ids and the tests need it. */
export interface Observer {
  /** Before the row or candidate of an id changes, comes or goes. */
  changing(table: number, id: bigint): void;
  changingBlock(block: number): void;
  /** A row or candidate was removed. */
  gone(table: number, id: bigint, cause: Cause): void;
  /** A new id got no row or no place among the candidates, because of the bound. */
  refused(table: number, id: bigint): void;
}

export const NO_OBSERVER: Readonly<Observer> = Object.freeze({
  changing() {},
  changingBlock() {},
  gone() {},
  refused() {},
});

export const emptyState = ({ tasks, tables }: JobRules<unknown>): ShardState => ({
  ...{ seq: 0, base: 0, moveAt: undefined, begins: new Map(), ledger: new Ledger(tasks), blocks: new Map() },
  tables: tables.map(() => ({ rows: new Map(), candidates: new Map(), lookAt: undefined })),
});

/** What an update does with an id that it names. */
type Fate = 'row' | 'new row' | 'promoted' | 'counted' | 'new candidate' | 'not admitted';

interface Named {
  readonly id: bigint;
  fate: Fate;
}

/** `G`: the gradient of a row or block. */
export class Shard<G = number> {
  readonly rules: JobRules<G>;
  readonly number: number;
  readonly state: ShardState;
  observer: Readonly<Observer> = NO_OBSERVER;

  constructor(rules: JobRules<G>, number: number, state: ShardState = emptyState(rules)) {
    this.rules = rules;
    this.number = number;
    this.state = state;
  }

  /** The order within an update: room for bounds, rows and values, ledger, looks that are due, the base of `seen`. */
  apply(update: ShardUpdate<G>): void {
    const { state, rules } = this;
    const before = state.ledger.watermark();
    if (update.type !== 'close') {
      this.#begin(passOf(update)!);
      rules.tables.forEach((_, table) => {
        this.#applyRows(table, update);
      });
      this.#applyBlocks(update);
    }
    state.seq += 1;
    state.ledger.apply(update);
    this.#makeDue(state.ledger.watermark() > before);
    rules.tables.forEach((_, table) => {
      if (state.tables[table]!.lookAt === state.seq) this.#look(table);
    });
    if (state.moveAt === state.seq) this.#moveBase();
  }

  // ---- rows and candidates

  #applyRows(table: number, update: Exclude<ShardUpdate<G>, { type: 'close' }>): void {
    const gradients = update.tables[table]!;
    const named = [...gradients.keys()]
      .sort(ascending)
      .map((id): Named => ({ id, fate: this.#fateOf(table, id, update) }));
    this.#makeRoom(table, named);
    const { rows, candidates } = this.state.tables[table]!;
    const { arithmetic } = this.rules;
    const seen = this.#seenNow(table);
    for (const { id, fate } of named) {
      if (fate === 'not admitted') continue;
      this.observer.changing(table, id);
      if (fate === 'counted' || fate === 'new candidate') {
        const most = this.#minOf(table) - 1;
        candidates.set(id, { count: Math.min((candidates.get(id)?.count ?? 0) + 1, most), seen });
        continue;
      }
      candidates.delete(id);
      const row = rows.get(id) ?? { values: arithmetic.initialRow(table, id), steps: 0 };
      rows.set(id, { values: arithmetic.update(row.values, gradients.get(id)!), steps: row.steps + 1, seen });
    }
  }

  #fateOf(table: number, id: bigint, update: Exclude<ShardUpdate<G>, { type: 'close' }>): Fate {
    const { rows, candidates } = this.state.tables[table]!;
    if (rows.has(id)) return 'row';
    const { admission } = this.rules.tables[table]!;
    if (admission.type === 'all') return 'new row';
    if (admission.type === 'probability')
      return this.rules.draw(table, id, nameOf(update)) < admission.p ? 'new row' : 'not admitted';
    const candidate = candidates.get(id);
    if ((candidate?.count ?? 0) + 1 >= admission.min) return candidate === undefined ? 'new row' : 'promoted';
    return candidate === undefined ? 'new candidate' : 'counted';
  }

  #minOf(table: number): number {
    const { admission } = this.rules.tables[table]!;
    return admission.type === 'count' ? admission.min : 1;
  }

  /** Returns the `seen` that this update gives to the rows that it names. */
  #seenNow(table: number): number {
    return isTracked(this.rules, this.rules.tables[table]!) ? this.state.seq + 1 : 0;
  }

  // ---- bounds

  /**
   * Keeps the table within its bound: evicts the least recent ids that the update does not name. If that is not enough,
   * refuses new ids, the highest first.
   */
  #makeRoom(table: number, named: readonly Named[]): void {
    const rules = this.rules.tables[table]!;
    const limit = shardBytes(this.rules, rules);
    if (limit === undefined) return;
    this.#makeRoomForCandidates(table, named, candidateLimit(limit));
    if (this.#bytesAfter(table, named) <= limit) return;
    for (const id of this.#leastRecent(table, named)) {
      if (this.#bytesAfter(table, named) <= afterEvictions(limit)) return;
      this.#remove(table, id, 'bound');
    }
    for (const one of [...named].reverse()) {
      if (this.#bytesAfter(table, named) <= limit) return;
      this.#refuse(table, one);
    }
  }

  /** A candidate that this update promotes still counts: if its row is refused, it stays one. */
  #makeRoomForCandidates(table: number, named: readonly Named[], limit: number): void {
    const { candidates } = this.state.tables[table]!;
    const after = (): number => candidates.size + named.filter(({ fate }) => fate === 'new candidate').length;
    if (after() <= limit) return;
    for (const id of this.#leastRecent(table, named).filter((one) => candidates.has(one))) {
      if (after() <= afterEvictions(limit)) return;
      this.#remove(table, id, 'bound');
    }
    for (const one of [...named].reverse()) {
      if (after() <= limit) return;
      if (one.fate === 'new candidate') this.#refuse(table, one);
    }
  }

  #refuse(table: number, one: Named): void {
    if (one.fate === 'promoted') one.fate = 'counted';
    else if (one.fate === 'new row' || one.fate === 'new candidate') one.fate = 'not admitted';
    else return;
    this.observer.refused(table, one.id);
  }

  #bytesAfter(table: number, named: readonly Named[]): number {
    const { rows, candidates } = this.state.tables[table]!;
    const count = (...fates: Fate[]): number => named.filter(({ fate }) => fates.includes(fate)).length;
    const rowsAfter = rows.size + count('new row', 'promoted');
    const candidatesAfter = candidates.size + count('new candidate') - count('promoted');
    return rowsAfter * this.rules.tables[table]!.rowBytes + candidatesAfter * CANDIDATE_BYTES;
  }

  /** Ids of rows and candidates that the update does not name: by `seen`, then by id. */
  #leastRecent(table: number, named: readonly Named[]): bigint[] {
    const { rows, candidates } = this.state.tables[table]!;
    const isNamed = new Set(named.map(({ id }) => id));
    return [...rows, ...candidates]
      .filter(([id]) => !isNamed.has(id))
      .sort(([a, { seen }], [b, { seen: other }]) => seen - other || ascending(a, b))
      .map(([id]) => id);
  }

  #remove(table: number, id: bigint, cause: Cause): void {
    const { rows, candidates } = this.state.tables[table]!;
    this.observer.changing(table, id);
    rows.delete(id);
    candidates.delete(id);
    this.observer.gone(table, id, cause);
  }

  // ---- looks for what is unseen

  #begin(pass: number): void {
    const { begins, seq } = this.state;
    for (let one = this.#firstBegin(); one <= pass; one++) if (!begins.has(one)) begins.set(one, seq);
  }

  /** The first pass whose begin a look may need. Without a table that counts passes, none is kept. */
  #firstBegin(): number {
    const passes = this.rules.tables.map(passesOf).filter((one) => one !== undefined);
    if (passes.length === 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.state.ledger.watermark() - Math.max(...passes));
  }

  #makeDue(isWatermarkRaised: boolean): void {
    const { state, rules } = this;
    const at = state.seq + delayOf(rules, this.number);
    rules.tables.forEach((table, number) => {
      const updates = updatesOf(table);
      const isDue =
        (passesOf(table) !== undefined && isWatermarkRaised) ||
        (updates !== undefined && state.seq % Math.ceil(updates / 8) === 0);
      // A look that is already due comes no later: it uses the threshold of its own moment.
      if (isDue) state.tables[number]!.lookAt ??= at;
    });
    const first = this.#firstBegin();
    for (const pass of [...state.begins.keys()]) if (pass < first) state.begins.delete(pass);
    const hasSeen = rules.tables.some((table) => isTracked(rules, table));
    if (hasSeen && state.seq - state.base >= rules.seenLimit - moveMargin(rules)) state.moveAt ??= at;
  }

  #look(table: number): void {
    const state = this.state.tables[table]!;
    state.lookAt = undefined;
    const threshold = this.#threshold(this.rules.tables[table]!);
    if (threshold === undefined) return;
    const unseen = [...state.rows, ...state.candidates].filter(([, { seen }]) => seen <= threshold);
    for (const [id] of unseen) this.#remove(table, id, 'unseen');
  }

  /** What was last named at or before this `seq` is removed. Undefined: nothing is. */
  #threshold(table: TableRules): number | undefined {
    const { seq, ledger, begins } = this.state;
    const updates = updatesOf(table);
    if (updates !== undefined) return seq - updates;
    // Undefined until the shard applies an update of that pass or a later one.
    return begins.get(ledger.watermark() - passesOf(table)!);
  }

  /** Moves the base of `seen` by half the range. Rows that were last named before the new base count as named at it. */
  #moveBase(): void {
    const { state, rules } = this;
    state.moveAt = undefined;
    state.base += rules.seenLimit / 2;
    raiseSeen(state, rules);
  }

  #applyBlocks({ blocks: gradients }: Gradients<G>): void {
    const { blocks, seq } = this.state;
    const { arithmetic, hasDeltas } = this.rules;
    for (const [block, gradient] of gradients) {
      this.observer.changingBlock(block);
      const values = blocks.get(block)?.values ?? arithmetic.initialBlock(block);
      blocks.set(block, { values: arithmetic.update(values, gradient), seen: hasDeltas ? seq + 1 : 0 });
    }
  }
}

/** No `seen` of a table that has one is below the base. */
export function raiseSeen({ base, tables, blocks }: ShardState, rules: JobRules<unknown>): void {
  const raise = <T extends { readonly seen: number }>(all: Map<unknown, T>): void => {
    for (const [key, one] of all) if (one.seen < base) all.set(key, { ...one, seen: base });
  };
  tables.forEach(({ rows, candidates }, table) => {
    if (!isTracked(rules, rules.tables[table]!)) return;
    raise(rows);
    raise(candidates);
  });
  if (rules.hasDeltas) raise(blocks);
}

/** Ids are unsigned 64-bit numbers. */
const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

/** Everything that belongs to a shard, as text: equal states have equal texts. */
export function textOf(state: ShardState): string {
  const { seq, base, moveAt, begins, ledger, tables, blocks } = state;
  const sorted = <T>(all: ReadonlyMap<bigint, T>) =>
    [...all].sort(([a], [b]) => ascending(a, b)).map(([id, one]) => [id.toString(), one]);
  return JSON.stringify({
    ...{ seq, base, moveAt },
    begins: [...begins].sort(([a], [b]) => a - b),
    ledger: ledger.entries().map(([key, next]) => [key, next.toString()]),
    tables: tables.map(({ rows, candidates, lookAt }) => ({
      ...{ lookAt, rows: sorted(rows), candidates: sorted(candidates) },
    })),
    blocks: [...blocks].sort(([a], [b]) => a - b),
  });
}
