/**
 * What the shards of one pserver have applied, by (pass, task, push). The ledger is why retried pushes, second attempts
 * at a task and late pushes of dead trainers never count twice (docs/modes.md).
 *
 * For each open task the ledger keeps the next push wanted and the good records below that position. A closed task is
 * one bit; complete passes collapse to a watermark. Positions are values taken from the pushes themselves, never
 * counters: applying the same push to two copies of a shard gives the same ledger.
 */
import { assert } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import { bitmapToText, createBitmap } from '../bitmap.ts';
import { corruptLedger, decodeLedger, encodeLedger } from './ledger-format.ts';
import { CLOSED, PassLedger } from './pass-ledger.ts';

export { CLOSED } from './pass-ledger.ts';

export interface PushPosition {
  readonly pass: number;
  readonly task: number;
  readonly push: number;
  readonly last: boolean;
  /** Good records of the task up to and including this push. */
  readonly good: number;
}

export type Judgement =
  | { readonly outcome: 'apply' }
  | { readonly outcome: 'duplicate' }
  /** The push is ahead of the ledger; the trainer rewinds to `want`. */
  | { readonly outcome: 'early'; readonly want: number };

export interface LedgerAccount {
  readonly applied: number;
  /** Records of discarded tasks that were never applied. */
  readonly discarded: number;
  readonly passes: readonly { readonly pass: number; readonly applied: number; readonly closed: number }[];
}

export interface Ledger {
  judge(push: PushPosition): Judgement;
  /** Records a push that `judge` answered with `apply`. */
  advance(push: PushPosition): void;
  /**
   * Closes a discarded task of `records` records at its position: its later pushes are duplicates. `BadMessage` when
   * more than `records` are applied already. A closed task stays as it is.
   */
  close(pass: number, task: number, records: number): void;
  /** The next push wanted, or CLOSED. */
  position(pass: number, task: number): number;
  /** Good records of an open task below its position. */
  goodOf(pass: number, task: number): number;
  /** Good records below the positions, over all passes and by pass still open. */
  account(): LedgerAccount;
  /** Passes below this are complete. */
  watermark(): number;
  /** Complete passes, and what is applied or discarded of the others as shares of the records of a pass. Cheap. */
  passesDone(recordsOfPass: number): number;
  /** Bitmap of the closed tasks of a pass, as `bitmapToText` writes it; undefined for a pass below the watermark. */
  closedTasks(pass: number): string | undefined;
  /** Whether both encode to the same bytes. Cheap: asked after each push where ledgers part and become equal again. */
  equals(other: Ledger): boolean;
  copy(): Ledger;
  encode(): Uint8Array;
}

/**
 * `tasks` is the number of tasks in a pass; a pass with all of them closed is complete. `saved` is an encoded ledger:
 * throws `CheckpointCorrupt` when it is damaged or of another number of tasks.
 */
export function createLedger(tasks: number, saved?: Uint8Array): Ledger {
  assert(Number.isInteger(tasks) && tasks > 0, 'a pass has at least one task');
  const ledger = new TaskLedger(tasks);
  if (saved !== undefined) ledger.load(saved);
  return ledger;
}

interface CompletePass {
  readonly good: number;
  readonly discarded: number;
}

class TaskLedger implements Ledger {
  readonly #tasks: number;
  readonly #passes = new Map<number, PassLedger>();
  /** Records of each complete pass below the watermark, which is this list's length. */
  readonly #collapsed: CompletePass[] = [];

  constructor(tasks: number) {
    this.#tasks = tasks;
  }

  load(bytes: Uint8Array): void {
    const saved = decodeLedger(bytes);
    const tasks = this.#tasks;
    if (saved.tasks !== tasks) throw corruptLedger(`made for ${saved.tasks} tasks a pass, the job has ${tasks}`);
    if (saved.watermark !== saved.collapsed.length) {
      throw corruptLedger('the watermark is not the number of complete passes');
    }
    for (const complete of saved.collapsed) this.#collapsed.push(complete);
    let previous = saved.watermark - 1;
    for (const one of saved.passes) {
      if (one.pass <= previous) throw corruptLedger(`pass ${one.pass} comes after pass ${previous}`);
      previous = one.pass;
      const ledger = PassLedger.decode(one, tasks);
      if (one.pass === saved.watermark && ledger.isComplete) throw corruptLedger(`pass ${one.pass} is complete`);
      this.#passes.set(one.pass, ledger);
    }
  }

  encode(): Uint8Array {
    return encodeLedger({
      version: 1,
      tasks: this.#tasks,
      watermark: this.#collapsed.length,
      collapsed: [...this.#collapsed],
      passes: this.#openPasses().map(([pass, ledger]) => ledger.encode(pass)),
    });
  }

  judge({ pass, task, push }: PushPosition): Judgement {
    const next = this.position(pass, task);
    if (next === CLOSED || push < next) return { outcome: 'duplicate' };
    return push === next ? { outcome: 'apply' } : { outcome: 'early', want: next };
  }

  advance({ pass, task, push, last, good }: PushPosition): void {
    assert(this.position(pass, task) === push, 'only the push wanted next advances the ledger');
    if (last) this.#closeTask(pass, task, good, 0);
    else this.#passAt(pass).advance(task, push + 1, good);
  }

  close(pass: number, task: number, records: number): void {
    if (this.position(pass, task) === CLOSED) return;
    const good = this.goodOf(pass, task);
    if (good > records) {
      throw new PaddletError(
        'BadMessage',
        `task ${task} of pass ${pass} cannot be closed with ${records} records: ${good} of its records have already been applied`,
      );
    }
    this.#closeTask(pass, task, good, records - good);
  }

  position(pass: number, task: number): number {
    assert(task >= 0 && task < this.#tasks, `task ${task} is one of ${this.#tasks}`);
    if (pass < this.#collapsed.length) return CLOSED;
    return this.#passes.get(pass)?.position(task) ?? 0;
  }

  goodOf(pass: number, task: number): number {
    return this.#passes.get(pass)?.goodOf(task) ?? 0;
  }

  account(): LedgerAccount {
    let applied = 0;
    let discarded = 0;
    for (const complete of this.#collapsed) {
      applied += complete.good;
      discarded += complete.discarded;
    }
    const passes = this.#openPasses().map(([pass, ledger]) => {
      const good = ledger.good();
      applied += good;
      discarded += ledger.discarded;
      return { pass, applied: good, closed: ledger.closedCount };
    });
    return { applied, discarded, passes };
  }

  watermark(): number {
    return this.#collapsed.length;
  }

  passesDone(recordsOfPass: number): number {
    let records = 0;
    for (const ledger of this.#passes.values()) records += ledger.good() + ledger.discarded;
    return this.#collapsed.length + records / recordsOfPass;
  }

  closedTasks(pass: number): string | undefined {
    if (pass < this.#collapsed.length) return undefined;
    return this.#passes.get(pass)?.closedTasks() ?? bitmapToText(createBitmap(this.#tasks));
  }

  equals(other: Ledger): boolean {
    return other instanceof TaskLedger && this.#isEqual(other);
  }

  copy(): Ledger {
    const copy = new TaskLedger(this.#tasks);
    copy.#collapsed.push(...this.#collapsed);
    for (const [pass, ledger] of this.#passes) copy.#passes.set(pass, ledger.copy());
    return copy;
  }

  #isEqual(other: TaskLedger): boolean {
    return (
      this.#collapsed.length === other.#collapsed.length &&
      this.#passes.size === other.#passes.size &&
      [...this.#passes].every(([pass, ledger]) => other.#passes.get(pass)?.equals(ledger) === true) &&
      this.#collapsed.every((one, pass) => isSameRecords(one, other.#collapsed[pass]!))
    );
  }

  #passAt(pass: number): PassLedger {
    let found = this.#passes.get(pass);
    if (found === undefined) {
      found = new PassLedger(this.#tasks);
      this.#passes.set(pass, found);
    }
    return found;
  }

  #closeTask(pass: number, task: number, good: number, discarded: number): void {
    this.#passAt(pass).close(task, good, discarded);
    for (let first = this.#passes.get(this.#collapsed.length); first?.isComplete; ) {
      this.#passes.delete(this.#collapsed.length);
      this.#collapsed.push({ good: first.good(), discarded: first.discarded });
      first = this.#passes.get(this.#collapsed.length);
    }
  }

  /** Ascending. */
  #openPasses(): [number, PassLedger][] {
    return [...this.#passes].sort(([a], [b]) => a - b);
  }
}

const isSameRecords = (a: CompletePass, b: CompletePass): boolean => a.good === b.good && a.discarded === b.discarded;
