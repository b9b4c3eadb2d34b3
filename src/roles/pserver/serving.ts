/** All that requests to a pserver are answered from, in both modes. Made once the shards are taken and loaded. */
import { pause } from '../../base/backoff.ts';
import type { PaddletError } from '../../base/errors.ts';
import type { Clock, Log } from '../../base/seams.ts';
import type { CheckpointFile } from '../../checkpoint/file/write-durable-file.ts';
import { pushPlanOf } from '../../cluster/job/job-plan.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { MasterSecret } from '../../cluster/placement/master-secret.ts';
import type { PushPlan } from '../../core/shard/push-plan.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';
import type { OwnedShards } from './held/owned-shards.ts';
import type { PserverMetrics } from './metrics.ts';
import type { Rounds } from './modes/rounds/rounds.ts';
import { createStaleness, type Staleness } from './modes/tasks/staleness.ts';
import type { ServedReplicas } from './replicas/served-replicas.ts';
import { Scanner } from './requests/scan.ts';
import type { Moves } from './transfer/moves.ts';

/** What requests must agree with. */
export interface ServedJob {
  readonly id: string;
  readonly batchPlanId: string;
  readonly spec: ParameterSpec;
  readonly units: number;
  /** Tasks of a pass. */
  readonly tasks: number;
  readonly passes: number;
  readonly plan: PushPlan;
}

export interface ServingOptions {
  readonly host: { readonly clock: Clock; readonly log: Log };
  readonly job: ServedJob;
  readonly shards: OwnedShards;
  readonly metrics: PserverMetrics;
  /** What a staleness bound is kept by; sync mode has none. */
  readonly staleness: { readonly rule: JobRecord['job']['training']['staleness']; readonly patienceMs: number };
  /** What the schedule of the job makes of the learning rate: of the next update. */
  readonly rateShare: () => number;
  /** False while the lease is not certainly held. */
  readonly isHeld: () => boolean;
  /** True from the moment that the last checkpoint of this process is being taken: updates are refused. */
  readonly isFrozen: () => boolean;
  /** Throws `NotMaster` when the request does not come from the master. */
  readonly checkMaster: MasterSecret['check'];
  /** Two attempts at a task disagree about its records: the job has to fail. */
  readonly onContradiction: (error: PaddletError) => void;
  /** The highest recovery number seen. */
  readonly recovery: () => number;
  /**
   * To be awaited before an update is applied: notes in the store that the loaded file is no longer the last state.
   * Undefined once that is done.
   */
  readonly beforeUpdate: () => Promise<void> | undefined;
  /** Undefined when a save is running already. */
  readonly checkpoint: (final: boolean) => Promise<CheckpointFile | undefined>;
  /** In sync mode. */
  readonly rounds: Rounds | undefined;
  /** Units that come and are handed over. Undefined while none can be. */
  readonly moves?: Pick<Moves, 'received' | 'wait' | 'applied'>;
  /** Undefined: units have one copy. */
  readonly replicas?: ServedReplicas | undefined;
  /** Called after each push that was applied. */
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
