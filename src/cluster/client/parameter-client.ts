/** Pulls values and pushes gradients of whole parameters: the slicer finds the pserver of each block and row. */
import { assert } from '../../base/assert.ts';
import { isPaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { PulledVersion } from '../../core/shard/staleness.ts';
import type { PulledValues } from '../../model/model.ts';
import type { IdRouter } from '../../tensor/id-router.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { PlacedPserver, Placement } from '../placement/placement-view.ts';
import { allSettledOrThrow, type PserverGroup, type RequestFields } from './pserver-group.ts';
import { createSlicer, type IdList, type PserverSlice, type Slicer } from './slicer.ts';

export type { IdList } from './slicer.ts';

export interface Gradients {
  readonly dense: readonly Float32Array[];
  /** For each table, count × width floats, in the order of the ids. */
  readonly sparse: readonly Float32Array[];
  readonly ids: IdList;
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
}

export interface PushAcknowledged {
  /** Every pserver had already applied the push. */
  readonly duplicate: boolean;
  /** The lowest recovery number that a pserver acknowledged under. */
  readonly recovery: number;
}

export interface TaskPosition {
  /** The lowest next push wanted by any pserver; -1 when the task is closed everywhere. */
  readonly next: number;
  /** The lowest recovery number that a pserver answered under. */
  readonly recovery: number;
}

export interface ParameterClient {
  pull(ids: IdList, signal: AbortSignal): Promise<PulledValues>;
  /** Where the job bounds staleness with policy `wait`, this waits for other trainers. */
  pullToTrain(ids: IdList, pull: TrainingPull, signal: AbortSignal): Promise<Pulled>;
  /** Takes back pulled values that nothing refers to any more: later pulls use their memory. */
  recycle(values: PulledValues): void;
  /** Gradients of values that were pulled to train will not be pushed: other trainers need not wait for them. */
  releaseHold(trainer: string): Promise<void>;
  /** Throws `PushOutOfOrder` with `details.want`, `TooStale`. */
  push(header: PushHeader, gradients: Gradients, signal: AbortSignal): Promise<PushAcknowledged>;
  position(pass: number, task: number, signal: AbortSignal): Promise<TaskPosition>;
}

export interface ParameterClientOptions {
  readonly spec: ParameterSpec;
  readonly shards: number;
  readonly group: PserverGroup;
  readonly router: IdRouter;
  /** Pulls to train ask the first pserver before the others, and it may let them wait: staleness policy `wait`. */
  readonly gated?: boolean;
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

  async pull(ids: IdList, signal: AbortSignal): Promise<PulledValues> {
    const attempt = (placement: Placement): Promise<Pulled> => this.#pullFrom(placement, ids, undefined);
    return (await this.#group.withPlacement('pull', attempt, signal)).values;
  }

  pullToTrain(ids: IdList, pull: TrainingPull, signal: AbortSignal): Promise<Pulled> {
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
      // A pserver that cannot be told does not wait for a silent trainer for ever.
      if (!isPaddletError(error)) throw error;
    }
  }

  push(header: PushHeader, gradients: Gradients, signal: AbortSignal): Promise<PushAcknowledged> {
    const what = `push ${header.push} of task ${header.task}`;
    return this.#group.withPlacement(what, (placement) => this.#pushTo(placement, header, gradients), signal);
  }

  position(pass: number, task: number, signal: AbortSignal): Promise<TaskPosition> {
    const what = `position of task ${task}`;
    return this.#group.withPlacement(what, (placement) => this.#positionAt(placement, pass, task), signal);
  }

  /** Asks each pserver for its slice. Under `wait` the first one admits the trainer before the others are asked. */
  async #pullFrom(placement: Placement, ids: IdList, hold: TrainingPull | undefined): Promise<Pulled> {
    const sending = this.#group.sending();
    if (sending !== undefined) await sending;
    const slices = this.#slicer.slices(placement, ids);
    const values = this.#slicer.allocate(ids);
    const versions = new Map<number, PulledVersion>();
    const pullSlice = async (pserver: PlacedPserver, slice: PserverSlice, holdFields?: HoldFields): Promise<void> => {
      if (slice.isEmpty && holdFields === undefined) return;
      const header = { ...(holdFields === undefined ? {} : { hold: holdFields }), ...slice.fields };
      const reply = await this.#group.ask(pserver, 'pull', header, slice.pullSegments());
      try {
        versions.set(pserver.index, { revision: pserver.stamp.revision, version: reply.header.version });
        slice.scatter((index) => reply.segment(index), values);
      } finally {
        reply.free();
      }
    };
    const [first, ...others] = placement.pservers;
    if (hold === undefined || first === undefined || !this.#gated) {
      await allSettledOrThrow(placement.pservers.map((pserver, position) => pullSlice(pserver, slices[position]!)));
    } else {
      await pullSlice(first, slices[0]!, holdFieldsFor(first, hold));
      await allSettledOrThrow(others.map((pserver, i) => pullSlice(pserver, slices[i + 1]!)));
    }
    for (const slice of slices) slice.release();
    return { values, versions };
  }

  async #pushTo(placement: Placement, header: PushHeader, gradients: Gradients): Promise<PushAcknowledged> {
    const { used: versions, ...position } = header;
    const sending = this.#group.sending();
    if (sending !== undefined) await sending;
    const slices = this.#slicer.slices(placement, gradients.ids);
    const outcomes = await allSettledOrThrow(
      placement.pservers.map(async (pserver, at) => {
        const slice = slices[at]!;
        const used = versions?.get(pserver.index);
        const fields = {
          ...position,
          ...(used === undefined || slice.isEmpty ? {} : { used }),
          ...slice.fields,
        };
        const reply = await this.#group.ask(pserver, 'push', fields, slice.pushSegments(gradients));
        reply.free();
        slice.release();
        failPoint('trainer.pserver-acknowledged');
        return reply.header;
      }),
    );
    return {
      duplicate: outcomes.every(({ outcome }) => outcome === 'duplicate'),
      recovery: Math.min(...outcomes.map(({ recovery }) => recovery)),
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

type HoldFields = NonNullable<RequestFields<'pull'>['hold']>;

/** What the first pserver needs to know of a pull to train. */
function holdFieldsFor(first: PlacedPserver, { trainer, pushes, holding }: TrainingPull): HoldFields {
  const held = holding?.get(first.index);
  if (held === undefined) return { trainer, pushes };
  // A restarted pserver counts versions from another start: 0 still says that the trainer holds values.
  return { trainer, pushes, since: held.revision === first.stamp.revision ? held.version : 0 };
}
