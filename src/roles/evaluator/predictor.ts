/** Makes lines of scores part after part of the records; several at a time, handed on in their order. */
import type { ForwardPart } from '../../data/forward-parts.ts';
import { addTally, NO_TALLY, type ScoreClient, type Tally } from './score-groups.ts';

export interface MadePart {
  readonly lines: Uint8Array;
  readonly tally: Tally;
}

export type MakePart = (part: ForwardPart, client: ScoreClient, signal: AbortSignal) => Promise<MadePart>;

export interface PredictorOptions {
  readonly parts: AsyncIterator<ForwardPart>;
  readonly make: MakePart;
  /** Parts that are made at a time. */
  readonly atOnce: number;
  /** Takes lines in order; false when no more are wanted. */
  readonly take: (lines: Uint8Array) => Promise<boolean>;
}

export class Predictor {
  readonly #options: PredictorOptions;
  #tally = NO_TALLY;
  /** Read, and their lines not yet taken. */
  readonly #waiting: ForwardPart[] = [];
  #isEnd = false;

  constructor(options: PredictorOptions) {
    this.#options = options;
  }

  /** To the end of the records. What it throws when the client fails loses none: it may be called with another one. */
  async run(client: ScoreClient, signal: AbortSignal): Promise<Tally> {
    const { make, take } = this.#options;
    const making: Promise<MadePart>[] = [];
    for (;;) {
      await this.#fill();
      for (const part of this.#waiting.slice(making.length)) {
        const made = make(part, client, signal);
        // One that fails is thrown in its turn.
        made.catch(() => undefined);
        making.push(made);
      }
      const [first] = making;
      if (first === undefined) return this.#tally;
      const { lines, tally } = await first;
      making.shift();
      this.#waiting.shift();
      this.#tally = addTally(this.#tally, tally);
      if (!(await take(lines))) return this.#tally;
    }
  }

  async #fill(): Promise<void> {
    const { parts, atOnce } = this.#options;
    while (!this.#isEnd && this.#waiting.length < atOnce) {
      const next = await parts.next();
      if (next.done === true) this.#isEnd = true;
      else this.#waiting.push(next.value);
    }
  }
}
