/** Pulls values and pushes gradients by parameter; where each block and row lives is the placement's business. */
import { assert } from '../../base/assert.ts';
import { isPaddletError } from '../../base/errors.ts';
import { failPoint } from '../../base/fail-points.ts';
import type { PulledVersion } from '../../core/shard/staleness.ts';
import type { PulledValues } from '../../model/model.ts';
import type { IdRouter } from '../../tensor/id-router.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { PlacedPserver, Placement } from '../placement/placement-view.ts';
import { type Ask, allSettledOrThrow, type PserverGroup } from './pserver-group.ts';
import { createSlicer, type IdList } from './slicer.ts';

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
  /** The oldest values behind the gradients. */
  readonly used?: PulledVersions;
}

/** By pserver index, of those that something was pulled from. */
export type PulledVersions = ReadonlyMap<number, PulledVersion>;

/** A pull that gradients will be pushed of. */
export interface TrainingPull {
  readonly trainer: string;
  /** So many pushes will carry gradients of it. */
  readonly pushes: number;
  /** Of values pulled before whose gradients are not yet pushed. */
  readonly holding: PulledVersions | undefined;
}

export interface Pulled {
  readonly values: PulledValues;
  readonly versions: PulledVersions;
}

export interface PushAcknowledged {
  /** Every pserver had applied the push before. */
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
  /** Waits for other trainers where the job has a staleness bound of that policy. */
  pullToTrain(ids: IdList, pull: TrainingPull, signal: AbortSignal): Promise<Pulled>;
  /** Nobody refers to these pulled values any more: later ones may be put in their place. */
  recycle(values: PulledValues): void;
  /** Gradients of values that were pulled to train will not be pushed: nobody needs to wait for them. */
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
  /** Pulls to train go through the first pserver, which may let them wait. */
  readonly gated?: boolean;
}

/**
 * Routing many ids takes long, and nothing leaves the thread meanwhile: so a request waits until what was asked for before it has
 * left, or the pservers would wait for the rest of that. When nothing is on its way it goes out at once, which is what the next one sees.
 */
export function createParameterClient(options: ParameterClientOptions): ParameterClient {
  const { group, gated = false } = options;
  const planner = createSlicer(options);

  /** Asks each pserver for its part; the first one alone before the others when it is to let the trainer in. */
  async function pullFrom(placement: Placement, ids: IdList, hold: TrainingPull | undefined): Promise<Pulled> {
    const sending = group.sending();
    if (sending !== undefined) await sending;
    const parts = planner.parts(placement, ids);
    const values = planner.room(ids);
    const versions = new Map<number, PulledVersion>();
    const pullPart = async (pserver: PlacedPserver, position: number, entering?: Entering): Promise<void> => {
      const part = parts[position]!;
      if (part.isEmpty && entering === undefined) return;
      const header = {
        placement: pserver.stamp,
        ...(entering === undefined ? {} : { hold: entering }),
        ...part.fields,
      };
      const reply = await group.ask(pserver, 'pull', header, part.pullSegments());
      try {
        versions.set(pserver.index, { revision: pserver.stamp.revision, version: reply.header.version });
        part.scatter((index) => reply.segment(index), values);
      } finally {
        reply.free();
      }
    };
    const [first, ...others] = placement.pservers;
    if (hold === undefined || first === undefined || !gated) {
      await allSettledOrThrow(placement.pservers.map((pserver, position) => pullPart(pserver, position)));
    } else {
      await pullPart(first, 0, enteringOf(first, hold));
      await allSettledOrThrow(others.map((pserver, i) => pullPart(pserver, i + 1)));
    }
    for (const part of parts) part.done();
    return { values, versions };
  }

  return {
    pull: async (ids, signal) => {
      const { values } = await group.withPlacement('pull', (placement) => pullFrom(placement, ids, undefined), signal);
      return values;
    },

    pullToTrain: (ids, hold, signal) =>
      group.withPlacement('pull', (placement) => pullFrom(placement, ids, hold), signal),

    recycle: (values) => planner.recycle(values),

    async releaseHold(trainer) {
      const first = group.current()?.pservers[0];
      if (!gated || first === undefined) return;
      try {
        const nothing = { placement: first.stamp, hold: { trainer, pushes: 0 }, dense: [], sparse: [] };
        (await group.ask(first, 'pull', nothing, [], LET_GO_TIMEOUT_MS)).free();
      } catch (error) {
        // A pserver that cannot be told does not wait for a trainer that is silent.
        if (!isPaddletError(error)) throw error;
      }
    },

    push: (header, gradients, signal) =>
      group.withPlacement(
        `push ${header.push} of task ${header.task}`,
        async (placement) => {
          const { used: versions, ...cut } = header;
          const sending = group.sending();
          if (sending !== undefined) await sending;
          const parts = planner.parts(placement, gradients.ids);
          const outcomes = await allSettledOrThrow(
            placement.pservers.map(async (pserver, position) => {
              const part = parts[position]!;
              const used = versions?.get(pserver.index);
              const asked = {
                ...cut,
                placement: pserver.stamp,
                ...(used === undefined || part.isEmpty ? {} : { used }),
                ...part.fields,
              };
              const reply = await group.ask(pserver, 'push', asked, part.pushSegments(gradients));
              reply.free();
              part.done();
              failPoint('trainer.pserver-acknowledged');
              return reply.header;
            }),
          );
          return {
            duplicate: outcomes.every(({ outcome }) => outcome === 'duplicate'),
            recovery: Math.min(...outcomes.map(({ recovery }) => recovery)),
          };
        },
        signal,
      ),

    position: (pass, task, signal) =>
      group.withPlacement(
        `position of task ${task}`,
        async (placement) => {
          const positions = await allSettledOrThrow(
            placement.pservers.map(async (pserver) => {
              const reply = await group.ask(pserver, 'position', { tasks: [{ pass, task }] });
              reply.free();
              const next = reply.header.next[0];
              assert(next !== undefined, 'a position for the task asked');
              return { next, recovery: reply.header.recovery };
            }),
          );
          const open = positions.map(({ next }) => next).filter((next) => next >= 0);
          const recovery = Math.min(...positions.map((position) => position.recovery));
          return { next: open.length === 0 ? -1 : Math.min(...open), recovery };
        },
        signal,
      ),
  };
}

const LET_GO_TIMEOUT_MS = 2_000;

type Entering = NonNullable<Ask<'pull'>['hold']>;

/** What the first pserver is told of a pull to train. */
function enteringOf(first: PlacedPserver, { trainer, pushes, holding }: TrainingPull): Entering {
  const held = holding?.get(first.index);
  if (held === undefined) return { trainer, pushes };
  // After a restart of the pserver its versions are others; that something is held still counts.
  return { trainer, pushes, since: held.revision === first.stamp.revision ? held.version : 0 };
}
