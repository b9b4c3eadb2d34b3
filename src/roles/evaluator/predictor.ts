/** Makes scores part after part of the records; several at a time, handed on in their order. */
import { throwIfAborted } from '../../cluster/waiting.ts';
import type { AnyPart } from '../../data/formats/format.ts';
import { addTally, NO_TALLY, type ScoreClient, type ScoredGroup, type Tally } from './score-groups.ts';

/** Text of the scores; or the scores, where the output is cut otherwise than its input. */
export type Made = Uint8Array | readonly ScoredGroup[];

export interface MadePart {
  readonly made: Made;
  readonly tally: Tally;
}

export type MakePart = (part: AnyPart, client: ScoreClient, signal: AbortSignal) => Promise<MadePart>;

export interface PredictorOptions {
  readonly parts: AsyncIterator<AnyPart>;
  readonly make: MakePart;
  /** Parts that are made at a time. */
  readonly atOnce: number;
  /** Takes what is made in order; false when no more is wanted. */
  readonly take: (made: Made) => Promise<boolean>;
}

export class Predictor {
  readonly #options: PredictorOptions;
  #tally = NO_TALLY;
  /** Read, and what is made of them not yet taken. */
  readonly #waiting: AnyPart[] = [];
  #isEnd = false;

  constructor(options: PredictorOptions) {
    this.#options = options;
  }

  /** To the end of the records. What it throws when the client fails loses none: it may be called with another one. */
  async run(client: ScoreClient, signal: AbortSignal): Promise<Tally> {
    const { make, take } = this.#options;
    const underWay: Promise<MadePart>[] = [];
    for (;;) {
      // Nothing else checks the signal when a file is read and threads compute.
      throwIfAborted(signal);
      await this.#fill();
      for (const part of this.#waiting.slice(underWay.length)) {
        const making = make(part, client, signal);
        // One that fails is thrown in its turn.
        making.catch(() => undefined);
        underWay.push(making);
      }
      const [first] = underWay;
      if (first === undefined) return this.#tally;
      const { made, tally } = await first;
      underWay.shift();
      this.#waiting.shift();
      this.#tally = addTally(this.#tally, tally);
      if (!(await take(made))) return this.#tally;
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
