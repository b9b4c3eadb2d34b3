/**
 * What became of the heads of units while a test ran. A head says who leads a unit, so a step that no rule allows would
 * be two pservers that lead it, or updates that were lost.
 */
import { onTestFinished } from 'vitest';
import { type Head, parseHead, sameOwner } from '../../src/cluster/placement/heads.ts';
import type { Entries, JobStore } from './job-store.ts';

export class HeadHistory {
  /** Steps that are not allowed, in words. */
  readonly faults: string[] = [];
  /** Units that another copy has taken over, or was handed. */
  readonly led = new Set<string>();
  /** Units that were loaded from a file, when no process with a copy was alive. */
  readonly loaded = new Set<string>();
  readonly #last = new Map<string, Head>();
  /** A set of fewer members is a fault from now on. */
  #fewestMembers = 1;

  /** Until the test is over. */
  constructor(store: JobStore) {
    const cancel = store.follow(
      (entries) => this.#look(entries),
      (error) => this.faults.push(`the heads could not be followed: ${String(error)}`),
    );
    onTestFinished(cancel);
  }

  /** No unit has fewer copies from now on. */
  keepCopies(count: number): void {
    this.#fewestMembers = count;
  }

  #look(entries: Entries): void {
    for (const [key, { value }] of entries) {
      if (!key.startsWith('/heads/')) continue;
      const head = parseHead(key, value);
      const before = this.#last.get(key);
      this.#last.set(key, head);
      if (before === undefined || JSON.stringify(before) === JSON.stringify(head)) continue;
      const isLoaded = !areAnyAlive(before, entries) && head.inSync.length === 1;
      if (isLoaded) this.loaded.add(key);
      const why = this.#faultIn(before, head, isLoaded);
      if (why !== undefined) this.faults.push(`${key}: ${why}: ${JSON.stringify(before)} to ${JSON.stringify(head)}`);
      if (!sameOwner(before.primary, head.primary)) this.led.add(key);
    }
  }

  #faultIn(before: Head, head: Head, isLoaded: boolean): string | undefined {
    const isLed = sameOwner(before.primary, head.primary);
    if (head.inSync.length < this.#fewestMembers) return 'a copy was taken out';
    if (head.epoch === before.epoch) return isLed ? undefined : 'another primary in the same epoch';
    if (head.epoch < before.epoch) return 'an older epoch';
    // Several changes may have been seen as one.
    if (isLed || isLoaded || head.epoch > before.epoch + 1) return undefined;
    return before.inSync.some((member) => sameOwner(member, head.primary)) ? undefined : 'its primary had no copy';
  }
}

/** A process with a copy has its index. */
const areAnyAlive = ({ inSync }: Head, entries: Entries): boolean =>
  inSync.some(({ index, token }) => entries.get(`/ps/${index}`)?.createRevision.toString() === token);
