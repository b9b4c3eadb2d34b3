/** The ledger of one pass: the next push wanted of each open task, and one bit for each closed task. */
import { type Bitmap, bitmapFromText, bitmapToText, createBitmap } from '../bitmap.ts';
import { corruptLedger, type SavedPass } from './ledger-format.ts';

/** Position of a closed task. */
export const CLOSED = -1;

interface OpenTask {
  /** The next push wanted. */
  readonly next: number;
  /** Good records below that push. */
  readonly good: number;
}

export class PassLedger {
  readonly #tasks: number;
  readonly #open = new Map<number, OpenTask>();
  /** Good records of the open tasks. */
  #openGood = 0;
  #closed: Bitmap;
  #closedCount = 0;
  /** Good records of the closed tasks. */
  #closedGood = 0;
  /** Records of discarded tasks that were above their position when it was closed. */
  #discarded = 0;

  constructor(tasks: number) {
    this.#tasks = tasks;
    this.#closed = createBitmap(tasks);
  }

  /** Throws `CheckpointCorrupt`. */
  static decode(saved: SavedPass, tasks: number): PassLedger {
    const ledger = new PassLedger(tasks);
    const closed = bitmapFromText(saved.closed, tasks);
    if (closed === undefined) throw corruptLedger(`pass ${saved.pass}: the bitmap is not one of ${tasks} tasks`);
    for (const [task, next, good] of saved.open) {
      if (task >= tasks || closed.has(task) || ledger.#open.has(task)) {
        throw corruptLedger(`pass ${saved.pass}: task ${task} does not exist, is closed, or is open twice`);
      }
      ledger.advance(task, next, good);
    }
    ledger.#closed = closed;
    ledger.#closedCount = closed.count();
    ledger.#closedGood = saved.closedGood;
    ledger.#discarded = saved.discarded;
    return ledger;
  }

  encode(pass: number): SavedPass {
    return {
      pass,
      closed: this.closedTasks(),
      closedGood: this.#closedGood,
      discarded: this.#discarded,
      open: [...this.#open]
        .sort(([a], [b]) => a - b)
        .map(([task, { next, good }]): [number, number, number] => [task, next, good]),
    };
  }

  /** The next push wanted, or CLOSED. */
  position(task: number): number {
    return this.#closed.has(task) ? CLOSED : (this.#open.get(task)?.next ?? 0);
  }

  /** Good records of an open task. */
  goodOf(task: number): number {
    return this.#open.get(task)?.good ?? 0;
  }

  advance(task: number, next: number, good: number): void {
    this.#openGood += good - this.goodOf(task);
    this.#open.set(task, { next, good });
  }

  close(task: number, good: number, discarded: number): void {
    this.#openGood -= this.goodOf(task);
    this.#open.delete(task);
    this.#closed.add(task);
    this.#closedCount += 1;
    this.#closedGood += good;
    this.#discarded += discarded;
  }

  get isComplete(): boolean {
    return this.#closedCount === this.#tasks;
  }

  get closedCount(): number {
    return this.#closedCount;
  }

  get discarded(): number {
    return this.#discarded;
  }

  /** Good records applied. */
  good(): number {
    return this.#closedGood + this.#openGood;
  }

  /** The closed tasks, as `bitmapToText` writes them. */
  closedTasks(): string {
    return bitmapToText(this.#closed);
  }

  equals(other: PassLedger): boolean {
    return (
      this.#closedCount === other.#closedCount &&
      this.#closedGood === other.#closedGood &&
      this.#discarded === other.#discarded &&
      this.#open.size === other.#open.size &&
      [...this.#open].every(([task, { next, good }]) => other.#isAt(task, next, good)) &&
      Buffer.compare(this.#closed.words, other.#closed.words) === 0
    );
  }

  copy(): PassLedger {
    const copy = new PassLedger(this.#tasks);
    for (const [task, open] of this.#open) copy.#open.set(task, open);
    copy.#openGood = this.#openGood;
    copy.#closed = createBitmap(this.#tasks, this.#closed.words.slice());
    copy.#closedCount = this.#closedCount;
    copy.#closedGood = this.#closedGood;
    copy.#discarded = this.#discarded;
    return copy;
  }

  #isAt(task: number, next: number, good: number): boolean {
    const open = this.#open.get(task);
    return open !== undefined && open.next === next && open.good === good;
  }
}
