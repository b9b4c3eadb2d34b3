/**
 * The time of several processes, which passes only when the test says so, and then for all of them: no lease ends
 * because the machine is slow. One that is stopped learns of it when it goes on, all at once, as by a real clock.
 */
import { createInterface } from 'node:readline';
import type { Clock } from '../../src/base/seams.ts';
import type { StoreProcess } from './store-process.ts';
import { FakeClock } from './support.ts';

/** A store looks at its file once in a step: often enough for the shortest leases. */
const STEP_MS = 50;
/** In one step a write is asked for, done and answered: each takes a turn of the event loop at most. */
const TURNS = 4;

export class SharedTime {
  readonly #processes: StoreProcess[] = [];
  #nowMs = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Time passes for this process too. */
  add(process: StoreProcess): void {
    this.#processes.push(process);
  }

  /** One process after the other, so that none finds the file locked by another one. */
  async pass(ms: number): Promise<void> {
    for (const untilMs = this.#nowMs + ms; this.#nowMs < untilMs; ) {
      this.#nowMs += STEP_MS;
      for (const process of this.#processes) if (!process.isPaused) await process.at(this.#nowMs);
    }
  }

  /** Until the process has said the line; throws when it has not within `limitMs`. */
  async passUntil(process: StoreProcess, line: string, limitMs: number): Promise<void> {
    const untilMs = this.#nowMs + limitMs;
    while (!process.lines.includes(line)) {
      if (this.#nowMs >= untilMs)
        throw new Error(`not said within ${limitMs} ms: ${line}; ${process.lines.join(', ')}`);
      await this.pass(STEP_MS);
    }
  }
}

/** The clock of a process under `SharedTime`, which tells it the time on stdin. */
export function followSharedTime(startMs: number, onPassed: (nowMs: number) => void): Clock {
  const clock = new FakeClock();
  let lastMs = startMs;
  let passed = Promise.resolve();
  const pass = async (nowMs: number): Promise<void> => {
    clock.jump(nowMs - lastMs);
    lastMs = nowMs;
    for (let turn = 0; turn < TURNS; turn++) await clock.advance(0);
    onPassed(nowMs);
  };
  createInterface({ input: process.stdin }).on('line', (line) => {
    passed = passed.then(() => pass(Number(line)));
  });
  return clock;
}
