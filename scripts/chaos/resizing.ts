/** Other numbers of pservers, asked for as an operator does. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Keys } from '../../src/store/keys.ts';
import type { Store } from '../../src/store/store.ts';
import type { MoveWatch } from './moves.ts';

const ASK_MS = 20_000;
const SETTLE_MS = 120_000;

export interface ResizesOptions {
  readonly paddlet: string;
  readonly storeUrl: string;
  readonly store: Store;
  readonly keys: Keys;
  readonly maxPservers: number;
  readonly watch: MoveWatch;
  /** With a folder for each index. */
  readonly checkpoints: string;
  readonly say: (line: string) => void;
}

export class Resizes {
  readonly #options: ResizesOptions;
  #isAsking = false;

  constructor(options: ResizesOptions) {
    this.#options = options;
  }

  /** A number other than the present one, by a fraction. What comes of it shows in the store. */
  async ask(which: number): Promise<boolean> {
    const { maxPservers, watch, keys, say } = this.#options;
    const now = Number(watch.entries.get(keys.psDesired)?.value ?? maxPservers);
    const others = Array.from({ length: maxPservers }, (_, i) => i + 1).filter((number) => number !== now);
    const wanted = others[Math.floor(which * others.length)];
    if (wanted === undefined || this.#isAsking) return false;
    say(`resize: ${now} → ${wanted} pservers`);
    this.#isAsking = true;
    // Without waiting for the answer: it may take as long as the store is unreachable.
    void this.#resize(wanted, ASK_MS, '--no-wait')
      .catch((error: Error) => say(`resize: ${error.message.trim().split('\n').at(-1)}`))
      .finally(() => {
        this.#isAsking = false;
      });
    return true;
  }

  /** When nothing is done to the cluster any more: what is not as it must be, in words. */
  async settle(): Promise<string[]> {
    const { store, watch, keys, checkpoints, maxPservers } = this.#options;
    const desired = Number(watch.entries.get(keys.psDesired)!.value);
    try {
      await this.#resize(desired, SETTLE_MS, '--timeout', `${SETTLE_MS - ASK_MS}ms`);
    } catch (error) {
      return [`the cluster does not settle: ${(error as Error).message}`];
    }
    const left: string[] = [];
    for (let index = desired; index < maxPservers; index++) {
      for (const key of [keys.ps(index), keys.pserver(index), keys.checkpoint(index)]) {
        if ((await store.get(key)) !== undefined) left.push(`pserver ${index} has left ${key} behind`);
      }
      const folder = join(checkpoints, String(index));
      const files = existsSync(folder) ? readdirSync(folder) : [];
      if (files.length > 0) left.push(`pserver ${index} has left ${files.length} files behind: ${files.join(' ')}`);
    }
    return left;
  }

  async #resize(pservers: number, timeoutMs: number, ...flags: string[]): Promise<void> {
    const { paddlet, storeUrl } = this.#options;
    const args = ['resize', '--pservers', String(pservers), '--store', storeUrl, '--json', ...flags];
    const { stdout } = await promisify(execFile)(paddlet, args, { timeout: timeoutMs });
    this.#options.say(`resize: ${stdout.trim()}`);
  }
}
