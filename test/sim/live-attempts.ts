/** Which attempts are live, read from what masters save: an account of its own, beside the queue's. */
import type { TaskBlock } from '../../src/core/task-state.ts';
import { BLOCK_TASKS } from '../../src/core/task-state.ts';
import type { Keys } from '../../src/store/keys.ts';

interface Attempt {
  readonly pass: number;
  readonly task: number;
  readonly attempt: number;
  readonly trainer: string;
}

export class LiveAttempts {
  readonly #blocksPrefix: string;
  /** By block key, the newest value. */
  readonly #blocks = new Map<string, TaskBlock>();
  /** Tasks that were done, with the attempts that were live until then. */
  readonly #doneBy = new Map<string, readonly { attempt: number; trainer: string }[]>();

  /** Attempts of repairs: dealt, but not in what is saved. */
  readonly #unsaved = new Set<string>();

  constructor(keys: Keys) {
    this.#blocksPrefix = keys.taskBlocks(0).slice(0, -2);
  }

  wrote(key: string, value: string): void {
    if (!key.startsWith(this.#blocksPrefix)) return;
    const [pass = ''] = key.slice(this.#blocksPrefix.length).split('/');
    const now = JSON.parse(value) as TaskBlock;
    for (const [task, entry] of Object.entries(this.#blocks.get(key)?.open ?? {})) {
      if (now.open[task] === undefined) this.#doneBy.set(`${pass}/${task}`, entry.attempts);
    }
    for (const task of Object.keys(now.open)) this.#doneBy.delete(`${pass}/${task}`);
    this.#blocks.set(key, now);
  }

  /** A master has answered with this attempt; what it rests on is saved. */
  dealt(attempt: Attempt): void {
    if (!this.#isLive(attempt)) this.#unsaved.add(nameOf(attempt));
  }

  /** Asked when a master has accepted the end of an attempt: it was live in the state saved before. */
  mayFinish(ended: Attempt): boolean {
    const { pass, task, attempt, trainer } = ended;
    if (this.#unsaved.has(nameOf(ended))) return true;
    const live = this.#doneBy.get(`${pass}/${task}`);
    // The block of a pass's last task is dropped with the pass.
    if (live === undefined) return this.#isLive(ended);
    return live.some((one) => one.attempt === attempt && one.trainer === trainer);
  }

  #isLive({ pass, task, attempt, trainer }: Attempt): boolean {
    const block = this.#blocks.get(`${this.#blocksPrefix}${pass}/${Math.floor(task / BLOCK_TASKS)}`);
    const live = block?.open[task]?.attempts ?? [];
    return live.some((one) => one.attempt === attempt && one.trainer === trainer);
  }
}

const nameOf = ({ pass, task, attempt, trainer }: Attempt): string => `${pass}/${task}/${attempt}/${trainer}`;
