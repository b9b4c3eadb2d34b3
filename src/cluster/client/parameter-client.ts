/** Pulls values and pushes gradients of whole parameters: the slicer finds the pserver of each block and row. */
import { assert } from '../../base/assert.ts';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { PulledVersion } from '../../core/shard/staleness.ts';
import type { PulledValues } from '../../model/model.ts';
import type { ArrayMemory } from '../../tensor/array-memory.ts';
import type { IdList, IdRouter } from '../../tensor/id-router.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { PlacedPserver, Placement } from '../placement/placement-view.ts';
import { allSettledOrThrow, type PserverGroup, type RequestFields } from './pserver-group.ts';
import { type Answer, createSlicer, type PserverSlice, type RoutedIds, type Slicer } from './slicer.ts';

export interface Gradients {
  readonly dense: readonly Float32Array[];
  /** For each table, a row of floats for each of its ids, in their order. */
  readonly sparse: readonly Float32Array[];
  readonly ids: readonly IdList[];
  /** Routes of the pull of the same ids, which need not be routed again. */
  readonly routed?: RoutedIds | undefined;
}

export interface PushHeader {
  readonly pass: number;
  readonly task: number;
  readonly push: number;
  readonly last: boolean;
  readonly good: number;
  /** For each pserver, the oldest version that the gradients were computed from. */
  readonly used?: PulledVersions;
}

/** By pserver index: only pservers that values were pulled from. */
export type PulledVersions = ReadonlyMap<number, PulledVersion>;

/** A pull of values whose gradients will be pushed. */
export interface TrainingPull {
  readonly trainer: string;
  /** Number of pushes that will carry their gradients. */
  readonly pushes: number;
  /** Versions of values pulled before whose gradients are not yet pushed. */
  readonly holding: PulledVersions | undefined;
}

export interface Pulled {
  readonly values: PulledValues;
  readonly versions: PulledVersions;
  /** Routes for the push of their gradients. */
  readonly routed: RoutedIds;
}

export interface PushAcknowledged {
  /** Every pserver had already applied the push. */
  readonly duplicate: boolean;
  /** The lowest recovery number that a pserver acknowledged under. */
  readonly recovery: number;
  /** When values were wanted. */
  readonly pulled: Pulled | undefined;
}

export interface TaskPosition {
  /** The lowest next push wanted by any pserver; -1 when the task is closed everywhere. */
  readonly next: number;
  /** The lowest recovery number that a pserver answered under. */
  readonly recovery: number;
}

/** `ids`: those of each table. */
export interface ParameterClient {
  pull(ids: readonly IdList[], signal: AbortSignal): Promise<PulledValues>;
  /** Where the job bounds staleness with policy `wait`, this waits for other trainers. */
  pullToTrain(ids: readonly IdList[], pull: TrainingPull, signal: AbortSignal): Promise<Pulled>;
  /** Takes back pulled values to which nothing refers: later pulls use their memory. */
  recycle(values: PulledValues): void;
  /** Gradients of values that were pulled to train will not be pushed: other trainers need not wait for them. */
  releaseHold(trainer: string): Promise<void>;
  /**
   * `next`: ids whose values are to come with the answer, after the push. Throws `PushOutOfOrder` with `details.want`,
   * `TooStale`.
   */
  push(
    header: PushHeader,
    gradients: Gradients,
    signal: AbortSignal,
    next?: readonly IdList[],
  ): Promise<PushAcknowledged>;
  position(pass: number, task: number, signal: AbortSignal): Promise<TaskPosition>;
}

export interface ParameterClientOptions {
  readonly spec: ParameterSpec;
  readonly shards: number;
  readonly group: PserverGroup;
  readonly router: IdRouter;
  /** Pulls to train ask the first pserver before the others, and it may let them wait: staleness policy `wait`. */
  readonly gated?: boolean;
  /** Where pulled values are put: the model's. */
  readonly memory?: ArrayMemory | undefined;
}

export const createParameterClient = (options: ParameterClientOptions): ParameterClient => new GroupClient(options);

const RELEASE_TIMEOUT_MS = 2_000;

/**
 * Routing many ids keeps the thread busy, and nothing is sent while it is busy: the pservers would wait for the rest of
 * the request before. So each request first waits until the one before has been sent. When nothing is being sent it
 * must go out in the same turn, without an await in between: the next request would not see it otherwise.
 */
class GroupClient implements ParameterClient {
  readonly #group: PserverGroup;
  readonly #slicer: Slicer;
  readonly #gated: boolean;

  constructor(options: ParameterClientOptions) {
    this.#group = options.group;
    this.#slicer = createSlicer(options);
    this.#gated = options.gated ?? false;
  }

  async pull(ids: readonly IdList[], signal: AbortSignal): Promise<PulledValues> {
    const attempt = (placement: Placement): Promise<Pulled> => this.#pullFrom(placement, ids, undefined);
    const { values, routed } = await this.#group.withPlacement('pull', attempt, signal);
    routed.release();
    return values;
  }

  pullToTrain(ids: readonly IdList[], pull: TrainingPull, signal: AbortSignal): Promise<Pulled> {
    return this.#group.withPlacement('pull', (placement) => this.#pullFrom(placement, ids, pull), signal);
  }

  recycle(values: PulledValues): void {
    this.#slicer.recycle(values);
  }

  async releaseHold(trainer: string): Promise<void> {
    const first = this.#group.current()?.pservers[0];
    if (!this.#gated || first === undefined) return;
    try {
      const nothing = { hold: { trainer, pushes: 0 }, dense: [], sparse: [] };
      (await this.#group.ask(first, 'pull', nothing, [], RELEASE_TIMEOUT_MS)).free();
    } catch (error) {
      // A pserver that does not get this waits for a silent trainer only for a limited time.
      if (!isPaddletError(error)) throw error;
    }
  }

  push(
    header: PushHeader,
    gradients: Gradients,
    signal: AbortSignal,
    next?: readonly IdList[],
  ): Promise<PushAcknowledged> {
    const what = `push ${header.push} of task ${header.task}`;
    const send = (along: readonly IdList[] | undefined): Promise<PushAcknowledged> =>
      this.#group.withPlacement(what, (placement) => this.#pushTo(placement, header, gradients, along), signal);
    if (next === undefined) return send(undefined);
    return send(next).catch((error: unknown) => {
      // The pull may be at fault, and of another task: made by itself, it fails that one. A push counts once.
      if (!isPaddletError(error, 'FrameTooLarge', 'OutOfMemory')) throw error;
      return send(undefined);
    });
  }

  position(pass: number, task: number, signal: AbortSignal): Promise<TaskPosition> {
    const what = `position of task ${task}`;
    return this.#group.withPlacement(what, (placement) => this.#positionAt(placement, pass, task), signal);
  }

  /** Asks each pserver for its slice. Under `wait` the first one admits the trainer before the others are asked. */
  async #pullFrom(placement: Placement, ids: readonly IdList[], hold: TrainingPull | undefined): Promise<Pulled> {
    const sending = this.#group.sending();
    if (sending !== undefined) await sending;
    const pulling = this.#pulling(placement, ids);
    const pullSlice = async (pserver: PlacedPserver, slice: PserverSlice, holdFields?: HoldFields): Promise<void> => {
      if (slice.isEmpty && holdFields === undefined) return;
      const header = { ...(holdFields === undefined ? {} : { hold: holdFields }), ...slice.fields };
      const reply = await this.#group.ask(pserver, 'pull', header, slice.pullSegments());
      try {
        pulling.take(pserver, slice, reply.header.version, reply);
      } finally {
        reply.free();
      }
    };
    const { slices } = pulling.routed;
    const [first, ...others] = placement.pservers;
    try {
      if (hold === undefined || first === undefined || !this.#gated) {
        await allSettledOrThrow(placement.pservers.map((pserver, position) => pullSlice(pserver, slices[position]!)));
      } else {
        await pullSlice(first, slices[0]!, holdFieldsFor(first, hold));
        await allSettledOrThrow(others.map((pserver, i) => pullSlice(pserver, slices[i + 1]!)));
      }
    } catch (error) {
      this.#slicer.recycle(pulling.values);
      throw error;
    }
    return pulling;
  }

  #pulling(placement: Placement, ids: readonly IdList[]): Pulling {
    const versions = new Map<number, PulledVersion>();
    const routed = this.#slicer.route(placement, ids);
    const values = this.#slicer.allocate(ids);
    return {
      ...{ values, versions, routed },
      take(pserver, slice, version, answer) {
        if (version === undefined) throw new PaddletError('BadMessage', 'the answer to a pull has no version');
        versions.set(pserver.index, { revision: pserver.stamp.revision, version });
        slice.scatter(answer, values);
      },
    };
  }

  async #pushTo(
    placement: Placement,
    header: PushHeader,
    gradients: Gradients,
    next: readonly IdList[] | undefined,
  ): Promise<PushAcknowledged> {
    const { used: versions, pass, task, push, last, good } = header;
    const sending = this.#group.sending();
    if (sending !== undefined) await sending;
    const { routed } = gradients;
    const pushed = routed?.version === placement.version ? routed : this.#slicer.route(placement, gradients.ids);
    const pulling = next && this.#pulling(placement, next);
    const send = async (pserver: PlacedPserver, at: number) => {
      const slice = pushed.slices[at]!;
      const used = slice.isEmpty ? undefined : versions?.get(pserver.index);
      const wanted = pulling?.routed.slices[at];
      const { dense, sparse } = slice.fields;
      const fields: PushFields = { pass, task, push, last, good, dense, sparse };
      if (used !== undefined) fields.used = used;
      if (wanted?.isEmpty === false) fields.pull = wanted.fields;
      const segments = slice.pushSegments(gradients);
      wanted?.pullSegments(segments);
      const reply = await this.#group.ask(pserver, 'push', fields, segments);
      failPoint('trainer.pserver-acknowledged');
      try {
        if (wanted?.isEmpty === false) pulling!.take(pserver, wanted, reply.header.version, reply);
      } finally {
        reply.free();
      }
      return reply.header;
    };
    const outcomes = await allSettledOrThrow(placement.pservers.map(send)).catch((error: unknown) => {
      if (pulling !== undefined) this.#slicer.recycle(pulling.values);
      throw error;
    });
    pushed.release();
    return {
      duplicate: outcomes.every(({ outcome }) => outcome === 'duplicate'),
      recovery: Math.min(...outcomes.map(({ recovery }) => recovery)),
      pulled: pulling,
    };
  }

  async #positionAt(placement: Placement, pass: number, task: number): Promise<TaskPosition> {
    const positions = await allSettledOrThrow(
      placement.pservers.map(async (pserver) => {
        const reply = await this.#group.ask(pserver, 'position', { tasks: [{ pass, task }] });
        reply.free();
        const next = reply.header.next[0];
        assert(next !== undefined, 'a position for the task asked');
        return { next, recovery: reply.header.recovery };
      }),
    );
    const open = positions.map(({ next }) => next).filter((next) => next >= 0);
    const recovery = Math.min(...positions.map((position) => position.recovery));
    return { next: open.length === 0 ? -1 : Math.min(...open), recovery };
  }
}

/** Values on their way. */
interface Pulling extends Pulled {
  take(pserver: PlacedPserver, slice: PserverSlice, version: number | undefined, answer: Answer): void;
}

/** Filled in field by field: it is made for each push. */
type PushFields = { -readonly [F in keyof RequestFields<'push'>]: RequestFields<'push'>[F] };

type HoldFields = NonNullable<RequestFields<'pull'>['hold']>;

/** What the first pserver needs to know of a pull to train. */
function holdFieldsFor(first: PlacedPserver, { trainer, pushes, holding }: TrainingPull): HoldFields {
  const held = holding?.get(first.index);
  if (held === undefined) return { trainer, pushes };
  // A restarted pserver counts versions from another start: 0 still says that the trainer holds values.
  return { trainer, pushes, since: held.revision === first.stamp.revision ? held.version : 0 };
}
