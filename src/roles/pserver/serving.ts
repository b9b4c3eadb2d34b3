/** Everything that a pserver answers requests from, in both modes. In sync mode, each timeline has its own. */
import { pause } from '../../base/backoff.ts';
import type { PaddletError } from '../../base/errors.ts';
import type { Clock, Log } from '../../base/seams.ts';
import type { CheckpointFile } from '../../checkpoint/file/write-durable-file.ts';
import { pushPlanOf } from '../../cluster/job/job-plan.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { MasterSecret } from '../../cluster/placement/master-secret.ts';
import type { PushPlan } from '../../core/shard/push-plan.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { SaveKind } from './files/snapshots.ts';
import type { OwnedShards } from './held/owned-shards.ts';
import type { PserverMetrics } from './metrics.ts';
import type { Rounds } from './modes/rounds/rounds.ts';
import { createStaleness, type Staleness } from './modes/tasks/staleness.ts';
import type { ServedReplicas } from './replicas/served-replicas.ts';
import { Scanner } from './requests/scan.ts';
import type { Moves } from './transfer/moves.ts';

/** The fields of a job that requests are checked against. */
export interface ServedJob {
  readonly id: string;
  readonly batchPlanId: string;
  readonly spec: ParameterSpec;
  readonly units: number;
  /** Number of tasks of a pass. */
  readonly tasks: number;
  readonly passes: number;
  readonly plan: PushPlan;
}

export interface ServingOptions {
  readonly host: { readonly clock: Clock; readonly log: Log };
  readonly job: ServedJob;
  readonly shards: OwnedShards;
  readonly metrics: PserverMetrics;
  /** Options of the staleness bound. `rule` is undefined in sync mode, which does not bound the staleness. */
  readonly staleness: { readonly rule: JobRecord['job']['training']['staleness']; readonly patienceMs: number };
  /** Returns the factor that the job's schedule applies to the learning rate of the next update. */
  readonly rateShare: () => number;
  /** False while the lease is not certainly held. */
  readonly isHeld: () => boolean;
  /** True while this pserver refuses updates, for example because its last checkpoint is being taken. */
  readonly isFrozen: () => boolean;
  /** Throws `NotMaster` if the request does not come from the master. */
  readonly checkMaster: MasterSecret['check'];
  /** Called if two attempts at a task count its records differently. The job must fail. */
  readonly onContradiction: (error: PaddletError) => void;
  /** Returns the highest recovery number seen; in sync mode, 0. */
  readonly recovery: () => number;
  /**
   * To be awaited before an update is applied. Removes the files from the heads, because they will no longer be the
   * last state. Returns undefined if there is nothing to wait for.
   */
  readonly beforeUpdate: () => Promise<void> | undefined;
  /** Saves a checkpoint. The result is undefined if nothing was saved, for example because a save was running. */
  readonly checkpoint: (kind: SaveKind) => Promise<CheckpointFile | undefined>;
  /** Undefined in async mode. */
  readonly rounds: Rounds | undefined;
  /** Moves of units to and from this pserver. Undefined if units cannot move. */
  readonly moves?: Pick<Moves, 'received' | 'wait' | 'applied'>;
  /** Undefined if each unit has only one copy. */
  readonly replicas?: ServedReplicas | undefined;
  /** Async mode: called after each applied push. */
  readonly onApplied: () => void;
}

export interface Serving extends Omit<ServingOptions, 'host' | 'staleness'> {
  readonly staleness: Staleness;
  readonly scanner: Pick<Scanner, 'rows' | 'block'>;
}

export function createServing({ host, staleness, ...parts }: ServingOptions): Serving {
  const { shards, metrics } = parts;
  return {
    ...parts,
    staleness: createStaleness({ ...host, ...staleness, version: () => shards.version, metrics }),
    scanner: new Scanner({ shards, turn: () => pause(host.clock, 0) }),
  };
}

export function servedJob(record: JobRecord, spec: ParameterSpec): ServedJob {
  const { id, batchPlanId, units, train, job } = record;
  return { id, batchPlanId, spec, units, tasks: train.tasks, passes: job.training.passes, plan: pushPlanOf(record) };
}
