/**
 * Values in flight to a trainer, for the mini-batches that it computes next, task after task, in that order. A fixed
 * number of groups of batches are pulled ahead of the current group. A push carries the next pull; a pull that no push
 * carries is sent by itself.
 */
import { assert } from '../../../base/assert.ts';
import type { ParameterClient, Pulled, PulledVersions } from '../../../cluster/client/parameter-client.ts';
import { interrupted } from '../../../cluster/waiting.ts';
import type { BatchGroup } from './batch-groups.ts';

export interface PulledGroup {
  readonly group: BatchGroup;
  readonly pulled: Pulled;
}

/** A pull that a push carries. */
export interface TakenAlong {
  readonly group: BatchGroup;
  arrived(pulled: Pulled): void;
  /** The push was not answered: the group is pulled by itself. */
  failed(): void;
}

export interface PullQueueOptions {
  /** Groups that are pulled, at most, before the one before them is computed. */
  readonly ahead: number;
  readonly client: Pick<ParameterClient, 'pullToTrain' | 'recycle'>;
  /** The trainer's id. */
  readonly id: string;
}

/** What a task pulls. */
export interface SourceOptions {
  readonly groups: Iterator<BatchGroup>;
  /** Versions of values that are pulled and not pushed yet (staleness policy `wait`). */
  readonly holding: () => PulledVersions | undefined;
  /** Aborts when the task is no longer to be trained. */
  readonly signal: AbortSignal;
}

/** One that was asked for. */
interface Asked {
  readonly group: BatchGroup;
  readonly pulled: Promise<Pulled>;
}

export class PullQueue {
  readonly #options: PullQueueOptions;
  /** Sources in the order in which they are computed. */
  #sources: PullSource[] = [];

  constructor(options: PullQueueOptions) {
    this.#options = options;
  }

  /**
   * `first`: before those of other tasks, as the task is computed next. Its values are asked for when its turn has
   * come: the task before it may go on for long.
   */
  open(options: SourceOptions, where: 'first' | 'last'): PullSource {
    const source = new PullSource(options, this, where === 'last');
    if (where === 'first') this.#sources.unshift(source);
    else this.#sources.push(source);
    return source;
  }

  /** For the push that is made now; undefined when enough is on its way. */
  takeAlong(): TakenAlong | undefined {
    if (this.#outstanding() > this.#options.ahead) return undefined;
    const source = this.#nextSource();
    if (source === undefined) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<Pulled>();
    const group = source.ask(() => promise);
    return { group, arrived: resolve, failed: () => void this.#pull(group, source).then(resolve, reject) };
  }

  /** The source has nothing on its way: pulls for it at once, whatever else is, and then for what comes after that. */
  begin(source: PullSource): void {
    source.isDue = true;
    if (source.peek() !== undefined) source.ask((group) => this.#pull(group, source));
    this.#fill(this.#options.ahead + 1);
  }

  /** A group is about to be computed: those after it are pulled, as far as no push has taken them along. */
  goOn(): void {
    this.#fill(this.#options.ahead);
  }

  /** To be called by its source. */
  closed(source: PullSource, left: readonly Asked[]): void {
    this.#sources = this.#sources.filter((one) => one !== source);
    const { client } = this.#options;
    for (const { pulled } of left) {
      pulled.then(
        ({ values }) => client.recycle(values),
        () => {},
      );
    }
  }

  #fill(outstanding: number): void {
    for (let source = this.#nextSource(); source !== undefined; source = this.#nextSource()) {
      if (this.#outstanding() >= outstanding) return;
      const asking = source;
      asking.ask((group) => this.#pull(group, asking));
    }
  }

  #nextSource(): PullSource | undefined {
    return this.#sources.find((one) => one.isDue && one.peek() !== undefined);
  }

  #outstanding(): number {
    return this.#sources.reduce((sum, source) => sum + source.outstanding, 0);
  }

  async #pull({ union, pushes }: BatchGroup, { options: { holding, signal }, isClosed }: PullSource): Promise<Pulled> {
    if (isClosed) throw interrupted();
    const { client, id } = this.#options;
    return await client.pullToTrain(union.ids, { trainer: id, pushes, holding: holding() }, signal);
  }
}

/** The groups of one task. */
export class PullSource {
  readonly options: SourceOptions;
  /** Others may ask for its groups. To be set by its queue. */
  isDue: boolean;
  readonly #queue: PullQueue;
  #next: BatchGroup | undefined;
  /** Set if its next group could not be made. */
  #failure: { readonly error: unknown } | undefined;
  #asked: Asked[] = [];
  #isClosed = false;

  constructor(options: SourceOptions, queue: PullQueue, isDue: boolean) {
    this.options = options;
    this.#queue = queue;
    this.isDue = isDue;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Asked for, and not taken. */
  get outstanding(): number {
    return this.#asked.length;
  }

  /** The next group to ask for. Throws nothing: another task may look. */
  peek(): BatchGroup | undefined {
    if (this.#isClosed || this.#failure !== undefined) return undefined;
    this.#next ??= this.#made();
    return this.#next;
  }

  #made(): BatchGroup | undefined {
    try {
      const { done, value } = this.options.groups.next();
      return done === true ? undefined : value;
    } catch (error) {
      this.#failure = { error };
      return undefined;
    }
  }

  ask(pull: (group: BatchGroup) => Promise<Pulled>): BatchGroup {
    const group = this.peek();
    assert(group !== undefined, 'only a group that there is is asked for');
    this.#next = undefined;
    const pulled = pull(group);
    // Its failure is seen when the group is computed.
    pulled.catch(() => {});
    this.#asked.push({ group, pulled });
    return group;
  }

  /** The next group, when its values are there; undefined after the last. Throws why it could not be made or pulled. */
  async take(): Promise<PulledGroup | undefined> {
    if (this.#asked.length === 0) this.#queue.begin(this);
    const asked = this.#asked[0];
    if (asked === undefined && this.#failure !== undefined) throw this.#failure.error;
    if (asked === undefined) return undefined;
    const pulled = await asked.pulled;
    this.#asked.shift();
    this.#queue.goOn();
    return { group: asked.group, pulled };
  }

  /** What was asked for is no longer wanted. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#queue.closed(this, this.#asked);
    this.#asked = [];
  }
}
