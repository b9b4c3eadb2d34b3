/** Which attempts are live, read from what masters save: an account of its own, beside the queue's. */
import type { AttemptRef } from '../../src/core/tasks/address.ts';
import type { TaskBlock } from '../../src/core/tasks/state.ts';
import { BLOCK_TASKS } from '../../src/core/tasks/state.ts';
import type { Keys } from '../../src/store/keys.ts';

export class LiveAttempts {
  readonly #blocksPrefix: string;
  readonly #stateKey: string;
  /** The pass, as saved. */
  #place = 0;
  /** By block key, the newest value. */
  readonly #blocks = new Map<string, TaskBlock>();
  /** Tasks that were done, with the attempts that were live until then. */
  readonly #doneBy = new Map<string, readonly { attempt: number; trainer: string }[]>();

  /** Attempts of repairs: handed out, but not in what is saved. */
  readonly #repairs = new Set<string>();

  constructor(keys: Keys) {
    this.#blocksPrefix = keys.taskBlocks(0).slice(0, -2);
    this.#stateKey = keys.tasksState;
  }

  /** Takes in what a master saved; what is wrong with it, if anything is. */
  wrote(key: string, value: string): string | undefined {
    if (key === this.#stateKey) return this.#wroteState(value);
    if (!key.startsWith(this.#blocksPrefix)) return undefined;
    const [pass = ''] = key.slice(this.#blocksPrefix.length).split('/');
    const now = JSON.parse(value) as TaskBlock;
    for (const [task, entry] of Object.entries(this.#blocks.get(key)?.open ?? {})) {
      if (now.open[task] === undefined) this.#doneBy.set(`${pass}/${task}`, entry.attempts);
    }
    for (const task of Object.keys(now.open)) this.#doneBy.delete(`${pass}/${task}`);
    const before = this.#blocks.get(key);
    this.#blocks.set(key, now);
    const isLost = before !== undefined && !includes(now.done, before.done);
    return isLost ? `${key} was saved without tasks that were done: ${now.done} after ${before.done}` : undefined;
  }

  #wroteState(value: string): string | undefined {
    const { phase, pass } = JSON.parse(value) as { phase: string; pass: number };
    // A job that is continued goes on with the pass after that.
    const place = phase === 'ended' ? pass + 0.5 : pass;
    const before = this.#place;
    this.#place = place;
    return place < before ? `the job went back from pass ${before} to ${place}` : undefined;
  }

  /** A master has answered with this attempt; what it rests on is saved. */
  dealt(attempt: AttemptRef): void {
    if (attempt.queue === 'repair') this.#repairs.add(nameOf(attempt));
  }

  /** Asked when a master has accepted the end of an attempt: it was live in the state saved before. */
  mayFinish(ended: AttemptRef): boolean {
    const { queue, pass, task, attempt, trainer } = ended;
    if (queue === 'repair') return this.#repairs.has(nameOf(ended));
    const live = this.#doneBy.get(`${pass}/${task}`);
    // The block of a pass's last task is dropped with the pass.
    if (live === undefined) return this.#isLive(ended);
    return live.some((one) => one.attempt === attempt && one.trainer === trainer);
  }

  #isLive({ pass, task, attempt, trainer }: AttemptRef): boolean {
    const block = this.#blocks.get(`${this.#blocksPrefix}${pass}/${Math.floor(task / BLOCK_TASKS)}`);
    const live = block?.open[task]?.attempts ?? [];
    return live.some((one) => one.attempt === attempt && one.trainer === trainer);
  }
}

const nameOf = ({ pass, task, attempt, trainer }: AttemptRef): string => `${pass}/${task}/${attempt}/${trainer}`;

/** Whether all bits of `some` are in `all`, both in hexadecimal. */
const includes = (all: string, some: string): boolean =>
  [...some].every((digit, at) => {
    const bits = Number.parseInt(digit, 16);
    return (bits & Number.parseInt(all[at] ?? '0', 16)) === bits;
  });
