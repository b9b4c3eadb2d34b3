/**
 * Pservers that the job no longer wants leave nothing behind. Each deletes its own files and keys when the others have
 * saved its units; the master asks them to save, and does the rest for one that died on the way.
 */
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import { isPaddletError } from '../../base/errors.ts';
import type { Cancel } from '../../base/seams.ts';
import { needOf, needText } from '../../checkpoint/registry/needed.ts';
import { publishedFiles } from '../../checkpoint/registry/newest.ts';
import { parsePartings } from '../../checkpoint/registry/partings.ts';
import { readCheckpointKeys } from '../../checkpoint/registry/read-keys.ts';
import type { RoleContext } from '../../cluster/context.ts';
import { retryStore } from '../../cluster/ownership.ts';
import { leaveNothing } from '../../cluster/placement/leave-nothing.ts';
import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import { createSignal, type Signal, unlessStopped, untilOrLate } from '../../cluster/waiting.ts';
import type { Fence } from '../../store/fence.ts';
import { follow } from '../../store/follow.ts';

export interface LeftoversOptions {
  readonly context: RoleContext;
  readonly fence: Fence;
  readonly view: Pick<PlacementView, 'changed' | 'version' | 'isLoaded' | 'desired' | 'liveIndexes' | 'current'>;
  /** Folder of the checkpoints. Files on the disk of another machine stay there until the index is used again. */
  readonly folder: string;
  /** Has the pservers save; undefined when they are saving already. */
  readonly save: (signal: AbortSignal) => Promise<unknown>;
  readonly onFatal: (error: unknown) => void;
}

/** Between two requests to save, since one may not be enough. */
const SAVE_AGAIN: Backoff = { firstMs: 1_000, capMs: 60_000 };

/** Removes what is left of unwanted pservers, until cancelled. */
export function removeLeftovers(options: LeftoversOptions): Cancel {
  const stop = new AbortController();
  const leftovers = new Leftovers(options, stop.signal);
  leftovers.run().catch(unlessStopped(stop.signal, options.onFatal));
  return () => {
    stop.abort();
    leftovers.cancel();
  };
}

/** What cannot go yet, for another reason than that something has to be saved, is looked at so often. */
const MIN_WAIT_MS = 1_000;

class Leftovers {
  readonly #options: LeftoversOptions;
  readonly #signal: AbortSignal;
  readonly #changed: Signal = createSignal();
  readonly #cancelFiles: Cancel;
  #version = 0;
  /** Requests to save since nothing was left. */
  #saves = 0;
  #nextSaveMs = 0;

  constructor(options: LeftoversOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    const { context, onFatal } = options;
    const onChange = (): void => {
      this.#version += 1;
      this.#changed.notify();
    };
    const handlers = { onSnapshot: onChange, onEvents: onChange, onEnd: onFatal };
    this.#cancelFiles = follow(context.store, context.keys.checkpointsPrefix, handlers, context.host.clock);
    this.#followView(onChange).catch(unlessStopped(signal, onFatal));
  }

  cancel(): void {
    this.#cancelFiles();
  }

  async run(): Promise<never> {
    const { view, context } = this.#options;
    await view.changed.until(() => view.isLoaded() || undefined, this.#signal);
    const { clock } = context.host;
    for (;;) {
      const seen = this.#version;
      const isLeft = await this.#look();
      const isChanged = (): true | undefined => this.#version !== seen || undefined;
      const maxWaitMs = Math.max(MIN_WAIT_MS, this.#nextSaveMs - clock.monotonicMs());
      if (isLeft) await untilOrLate(this.#changed, isChanged, { clock, maxWaitMs, signal: this.#signal });
      else await this.#changed.until(isChanged, this.#signal);
    }
  }

  async #followView(onChange: () => void): Promise<never> {
    const { view } = this.#options;
    for (;;) {
      const seen = view.version();
      await view.changed.until(() => view.version() !== seen || undefined, this.#signal);
      onChange();
    }
  }

  /** Whether something is left that may go later. */
  async #look(): Promise<boolean> {
    const { view } = this.#options;
    const desired = view.desired();
    const unwanted = (await this.#recorded()).filter((index) => desired !== undefined && index >= desired);
    const live = view.liveIndexes();
    const left: number[] = [];
    for (const index of unwanted) if (live.includes(index) || !(await this.#remove(index))) left.push(index);
    if (left.length === 0) this.#saves = 0;
    else if (this.#options.context.host.clock.monotonicMs() >= this.#nextSaveMs) await this.#saveFor(left);
    return left.length > 0;
  }

  /** Indexes that have an entry, a parting snapshot or a record. */
  async #recorded(): Promise<number[]> {
    const { keys } = this.#options.context;
    const { files, partings } = await this.#readFiles();
    const records = await this.#range(keys.pserversPrefix);
    const indexes = [...files, ...partings].map(({ index }) => index);
    const recorded = records.map(({ key }) => Number(key.slice(keys.pserversPrefix.length)));
    return [...new Set([...indexes, ...recorded])].sort((a, b) => a - b);
  }

  /** Removes what is left of an index that is not live. */
  async #remove(index: number): Promise<boolean> {
    const { context, fence, folder } = this.#options;
    const also = [{ key: context.keys.ps(index), createRevision: 0n }];
    const left = await leaveNothing({ context, fence, also, index, folder, signal: this.#signal });
    if (left?.type === 'again')
      context.host.log.warn(`keys and files of pserver ${index} are kept for now: ${left.why}`);
    return left === undefined;
  }

  /** Has the pservers save that lead what only the files of those others have. */
  async #saveFor(left: readonly number[]): Promise<void> {
    const { context, view, save } = this.#options;
    const { log } = context.host;
    if (view.current()?.pservers.some(({ index }) => left.includes(index)) !== false) return;
    const state = await this.#readFiles();
    const needs = left.flatMap((index) => {
      const need = needOf(index, { ...state, resting: new Set() });
      return need === undefined ? [] : [`of pserver ${index}: ${needText(need)}`];
    });
    if (needs.length === 0) return;
    this.#nextSaveMs = context.host.clock.monotonicMs() + backoffMs(this.#saves++, SAVE_AGAIN);
    try {
      log.info(`the pservers save, so that files of pservers that left can be deleted: ${needs.join('; ')}`);
      await save(this.#signal);
    } catch (error) {
      if (!isPaddletError(error, 'CheckpointNotWritten')) throw error;
      log.error(error.message, { hint: error.hint });
    }
  }

  async #readFiles() {
    const { keys } = this.#options.context;
    const entries = await this.#range(keys.checkpointsPrefix);
    const { published, cut } = readCheckpointKeys(keys, entries);
    const files = publishedFiles(published);
    return { files, cut: cut.cut, partings: parsePartings(keys.partingPrefix, await this.#range(keys.partingPrefix)) };
  }

  async #range(prefix: string) {
    const { context } = this.#options;
    return (await retryStore(context, () => context.store.range({ prefix }), this.#signal)).entries;
  }
}
