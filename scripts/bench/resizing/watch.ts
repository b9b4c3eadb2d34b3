/** What the trainers of a run wait for and what its pservers hold in memory, looked at while it runs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Histograms, merge, parseHistograms, since } from './histogram.ts';

const SAMPLE_MS = 500;

export interface Window {
  readonly name: string;
  readonly isResize: boolean;
  readonly seconds: number;
  readonly histograms: Histograms;
  /** By kind: the longest that any trainer has had when it ended, in milliseconds, if that is of this window. */
  readonly longestMs: ReadonlyMap<string, number>;
  /** Maximum bytes of all pservers together, and of one pserver. */
  readonly mostBytes: number;
  readonly mostOfOneBytes: number;
  /**
   * Time for which the main threads of pservers and trainers ran, and for which they could have run but had no core.
   */
  readonly ranSeconds: number;
  readonly lackedCoreSeconds: number;
}

export class Watch {
  readonly #pid: number;
  readonly #logs: string;
  /** Address of a trainer → what it showed last. One that has ended still counts. */
  readonly #shown = new Map<string, string>();
  /** Pid → seconds that it ran, and lacked a core. */
  readonly #scheduledOf = new Map<number, readonly [number, number]>();
  #mostBytes = 0;
  #mostOfOneBytes = 0;
  #isOver = false;
  readonly #done: Promise<void>;

  /** `pid`: of `paddlet run`. */
  constructor(pid: number, logs: string) {
    this.#pid = pid;
    this.#logs = logs;
    this.#done = this.#sample();
  }

  /** From now until `act` is over. */
  async window<T>(name: string, isResize: boolean, act: () => Promise<T>): Promise<{ window: Window; result: T }> {
    await this.#look();
    const before = this.#histograms();
    const longestBefore = this.#longestMs();
    this.#mostBytes = 0;
    this.#mostOfOneBytes = 0;
    const [ranBefore, lackedBefore] = this.#scheduled();
    const beganMs = performance.now();
    const result = await act();
    const seconds = (performance.now() - beganMs) / 1000;
    await this.#look();
    const longestMs = new Map([...this.#longestMs()].filter(([kind, ms]) => ms > (longestBefore.get(kind) ?? 0)));
    const memory = { mostBytes: this.#mostBytes, mostOfOneBytes: this.#mostOfOneBytes };
    const [ran, lacked] = this.#scheduled();
    const cores = { ranSeconds: ran - ranBefore, lackedCoreSeconds: lacked - lackedBefore };
    return {
      window: {
        name,
        isResize,
        seconds,
        histograms: since(this.#histograms(), before),
        longestMs,
        ...memory,
        ...cores,
      },
      result,
    };
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#done;
  }

  async #sample(): Promise<void> {
    while (!this.#isOver) {
      await this.#look();
      await new Promise((go) => setTimeout(go, SAMPLE_MS));
    }
  }

  async #look(): Promise<void> {
    await Promise.all(this.#trainers().map((address) => this.#ask(address)));
    const memory = this.#children('pserver').map(residentBytes);
    for (const pid of [...this.#children('pserver'), ...this.#children('trainer')]) {
      const scheduled = scheduledSeconds(pid);
      if (scheduled !== undefined) this.#scheduledOf.set(pid, scheduled);
    }
    const sum = memory.reduce((all, one) => all + one, 0);
    this.#mostBytes = Math.max(this.#mostBytes, sum);
    this.#mostOfOneBytes = Math.max(this.#mostOfOneBytes, ...memory);
  }

  async #ask(address: string): Promise<void> {
    const text = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(5_000) })
      .then((answer) => answer.text())
      // It has not begun, or has ended.
      .catch(() => '');
    if (text !== '') this.#shown.set(address, text);
  }

  #trainers(): string[] {
    try {
      return readdirSync(this.#logs)
        .filter((name) => name.startsWith('trainer'))
        .flatMap(
          (name) => readFileSync(join(this.#logs, name), 'utf8').match(/(?<=trainer \S+ at )127\.\S+:\d+/g) ?? [],
        );
    } catch {
      // The job has not begun.
      return [];
    }
  }

  /** Together, also of those that have ended. */
  #scheduled(): [number, number] {
    const all = [...this.#scheduledOf.values()];
    return [all.reduce((sum, [ran]) => sum + ran, 0), all.reduce((sum, [, lacked]) => sum + lacked, 0)];
  }

  #children(role: string): number[] {
    const children = readFileSync(`/proc/${this.#pid}/task/${this.#pid}/children`, 'utf8').trim().split(' ');
    return children.filter((pid) => pid !== '' && commandOf(pid).split('\0')[1] === role).map(Number);
  }

  #histograms(): Histograms {
    return merge([...this.#shown.values()].map(parseHistograms));
  }

  #longestMs(): Map<string, number> {
    const longest = new Map<string, number>();
    for (const text of this.#shown.values()) {
      for (const [, kind, value] of text.matchAll(
        /^paddlet_trainer_longest_request_seconds\{kind="(\w+)".*\} (\S+)$/gm,
      )) {
        longest.set(kind!, Math.max(longest.get(kind!) ?? 0, 1000 * Number(value)));
      }
    }
    return longest;
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // It has ended.
    return '';
  }
}

function residentBytes(pid: number): number {
  try {
    const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return 1024 * Number(kilobytes ?? 0);
  } catch {
    // It has ended.
    return 0;
  }
}

function scheduledSeconds(pid: number): readonly [number, number] | undefined {
  try {
    const [ran, lacked] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return [(ran ?? 0) / 1e9, (lacked ?? 0) / 1e9];
  } catch {
    // It has ended.
    return undefined;
  }
}
