/**
 * A shard in the memory of one process: its state, what a delta needs to know, and the view of a cut that is being
 * captured. Nothing here but the state itself moves to other processes.
 */
import { captureChanges, captureWhole, type SavedShard } from './carry.ts';
import type { JobRules } from './rules.ts';
import { type Block, type Candidate, type Row, Shard, type ShardState } from './shard.ts';
import { Ledger, type ShardUpdate } from './update.ts';

/** The last file that is known to be published, and that was captured from this memory. */
export interface Parent {
  readonly file: number;
  readonly seq: number;
}

/** Number of removed ids that a shard keeps for its next delta, even if that is more than a quarter of its rows. */
const FEWEST_KEPT = 6;

interface OldTable {
  readonly rows: Map<bigint, Row | undefined>;
  readonly candidates: Map<bigint, Candidate | undefined>;
}

/** The state of a shard at the instant of a cut. Keeps the old values of everything that changes afterwards. */
class View {
  readonly #at: ShardState;
  readonly #tables: readonly OldTable[];
  readonly #blocks = new Map<number, Block | undefined>();

  constructor({ seq, base, moveAt, begins, ledger, tables }: ShardState, tasks: number) {
    this.#at = {
      ...{ seq, base, moveAt, begins: new Map(begins), ledger: new Ledger(tasks, ledger.entries()), blocks: new Map() },
      tables: tables.map(({ lookAt }) => ({ rows: new Map(), candidates: new Map(), lookAt })),
    };
    this.#tables = tables.map(() => ({ rows: new Map(), candidates: new Map() }));
  }

  /** To be called before a row or candidate changes. */
  keep(state: ShardState, table: number, id: bigint): void {
    const { rows, candidates } = this.#tables[table]!;
    if (rows.has(id)) return;
    rows.set(id, state.tables[table]!.rows.get(id));
    candidates.set(id, state.tables[table]!.candidates.get(id));
  }

  keepBlock(state: ShardState, block: number): void {
    if (!this.#blocks.has(block)) this.#blocks.set(block, state.blocks.get(block));
  }

  /** To be called before every `seen` changes: all is kept. */
  keepAll(state: ShardState): void {
    state.tables.forEach(({ rows, candidates }, table) => {
      for (const id of [...rows.keys(), ...candidates.keys()]) this.keep(state, table, id);
    });
    for (const block of state.blocks.keys()) this.keepBlock(state, block);
  }

  /** The shard as it was. */
  read(now: ShardState): ShardState {
    const tables = now.tables.map(({ rows, candidates }, table) => {
      const old = this.#tables[table]!;
      return {
        rows: asKept(rows, old.rows),
        candidates: asKept(candidates, old.candidates),
        lookAt: this.#at.tables[table]!.lookAt,
      };
    });
    return { ...this.#at, tables, blocks: asKept(now.blocks, this.#blocks) };
  }
}

function asKept<K, T>(now: ReadonlyMap<K, T>, old: ReadonlyMap<K, T | undefined>): Map<K, T> {
  const kept = new Map(now);
  for (const [key, one] of old) {
    if (one === undefined) kept.delete(key);
    else kept.set(key, one);
  }
  return kept;
}

/** Removed ids, with the `seq` of the update that removed them; by table. */
type Gone = readonly Map<bigint, number>[];

export class Memory {
  readonly shard: Shard;
  /** Ids that were removed since the parent, or since the file that may become it, was captured. */
  readonly #gone: Gone;
  #parent: Parent | undefined;
  /** `seq` of what was captured into the file that is being published, if that file may become the parent. */
  #captured: number | undefined;
  #cut: { readonly view: View; readonly gone: Gone } | undefined;

  constructor(rules: JobRules, number: number, state: ShardState) {
    this.shard = new Shard(rules, number, state);
    this.#gone = rules.tables.map(() => new Map());
    this.shard.observer = {
      changing: (table, id) => {
        this.#cut?.view.keep(state, table, id);
        // If the id is removed now, it is added again below.
        this.#gone[table]!.delete(id);
      },
      changingBlock: (block) => this.#cut?.view.keepBlock(state, block),
      gone: (table, id) => {
        if (this.#parent !== undefined || this.#captured !== undefined) this.#gone[table]!.set(id, state.seq + 1);
      },
      refused() {},
    };
  }

  apply(update: ShardUpdate): void {
    const { state } = this.shard;
    // The move of the base changes every row.
    if (state.moveAt === state.seq + 1) this.#cut?.view.keepAll(state);
    this.shard.apply(update);
    if (this.#hasManyGone()) this.forgetParent();
  }

  /** The next file has the whole shard, whatever becomes of a file that is being published. */
  forgetParent(): void {
    this.#parent = undefined;
    this.#captured = undefined;
    for (const table of this.#gone) table.clear();
  }

  /** Returns the part of the shard for a file: the changes since the parent in a delta, otherwise the whole shard. */
  capture(isDelta: boolean): { readonly saved: SavedShard; readonly parent: Parent | undefined } {
    this.#captured = this.shard.state.seq;
    return this.#captureAs(this.shard.state, this.#gone, isDelta);
  }

  /** The file with what was captured at `seq` is known to be published. */
  published(file: number, seq: number): void {
    if (this.#captured !== seq) return;
    this.#captured = undefined;
    this.#parent = { file, seq };
    for (const table of this.#gone) for (const [id, at] of table) if (at <= seq) table.delete(id);
  }

  /** The file with what was captured at `seq` is known not to be published: the parent stays. */
  refused(seq: number): void {
    if (this.#captured !== seq) return;
    this.#captured = undefined;
    if (this.#parent === undefined) this.forgetParent();
  }

  // ---- sync mode

  /** A cut begins: until it is captured, its view keeps what changes. */
  beginCut(): void {
    const { state, rules } = this.shard;
    this.#cut = { view: new View(state, rules.tasks), gone: this.#gone.map((table) => new Map(table)) };
    this.#captured = state.seq;
  }

  /** As `capture`, of the shard as it was when the cut began. */
  captureCut(isDelta: boolean): { readonly saved: SavedShard; readonly parent: Parent | undefined } {
    const { view, gone } = this.#cut!;
    const then = view.read(this.shard.state);
    this.#cut = undefined;
    return this.#captureAs(then, gone, isDelta);
  }

  #captureAs(state: ShardState, gone: Gone, isDelta: boolean) {
    const parent = isDelta ? this.#parent : undefined;
    const { number } = this.shard;
    const saved = parent === undefined ? captureWhole(number, state) : captureChanges(number, state, parent.seq, gone);
    return { saved, parent };
  }

  #hasManyGone(): boolean {
    const rows = this.shard.state.tables.reduce((sum, { rows: one }) => sum + one.size, 0);
    const gone = this.#gone.reduce((sum, { size }) => sum + size, 0);
    return gone > Math.max(FEWEST_KEPT, rows / 4);
  }
}
