/** What a command gives to a role: the outside world, the store, and how other processes reach this one. */
import type { Registry } from 'prom-client';
import type { Host, LoggedError } from '../base/seams.ts';
import type { Model } from '../model/model.ts';
import type { AllowedCallers, ListenOptions, Network } from '../protocol/messages/channel.ts';
import type { Keys } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import type { JobRecord } from './job/job-record.ts';
import type { Troubles } from './troubles.ts';

export interface Readiness {
  readonly ready: boolean;
  /** What it waits for, when it is not ready. */
  readonly reason?: string;
}

/** Enough to reach the processes of a job. */
export interface ClusterContext {
  readonly host: Host;
  readonly network: Network;
  readonly store: Store;
  readonly keys: Keys;
  /** What this process waits for: of a role, which is asked for it. */
  readonly troubles?: Troubles;
}

/** Enough to own a key of a job, and to write by that. */
export interface StoreContext extends Pick<ClusterContext, 'host' | 'store' | 'keys'> {
  /** Aborts when the process is asked to exit (SIGINT, SIGTERM): drain, save, exit. */
  readonly stop: AbortSignal;
  /** What this process waits for outside of paddlet: of a role, which is asked for it. */
  readonly troubles?: Troubles;
}

/** What a process learns of itself after it has started. */
export interface KnownOfProcess {
  /** Index of a pserver. */
  readonly index?: number;
  /** Id of a trainer. */
  readonly id?: string;
  readonly job?: string;
}

export interface RoleContext extends ClusterContext, StoreContext {
  /**
   * Aborts with `stop`, or after it, when the whole job stops and not this process alone: then no other process takes
   * over what it has. A stop of the job by the store is seen by the job's watch.
   */
  readonly jobStop?: AbortSignal;
  /** Aborts just before `stop` when this process is to end without saving anything: it only ends its lease. */
  readonly endNow?: AbortSignal;
  /** `host:port` to bind; port 0 takes a free one. */
  readonly listen: string;
  /** Host that other processes use to reach this one, when it is not the bound one. */
  readonly advertise: string | undefined;
  /** Names of this role and origins of web pages that may ask beside its own. */
  readonly allow?: AllowedCallers;
  readonly registry: Registry;
  /** Answers /healthz, /readyz and /metrics. */
  readonly health: (isReady: () => Readiness) => ListenOptions['http'];
  /** What this process waits for outside of paddlet. */
  readonly troubles: Troubles;
  /** The last warnings and errors that it has logged, the oldest first. */
  readonly recentErrors?: () => readonly LoggedError[];
  /** What a trainer says of that in the store. */
  readonly startedBy?: 'run' | undefined;
  readonly hostName: string;
  readonly pid: number;
  readonly version: string;
  /** Adds facts to each line of the log from then on. */
  readonly identify?: (facts: KnownOfProcess) => void;
  /** Size of the parts in which checkpoint files are written, when it is not the usual one. */
  readonly extentBytes?: number;
  /** Makes the models of jobs whose model is not built in. */
  readonly makeModel?: (record: JobRecord) => Model;
}

/**
 * How a role ended well: with the job, because it was asked to stop, or because the job wants fewer pservers. Failures
 * are thrown as PaddletErrors.
 */
export type RoleEnd = 'finished' | 'stopped' | 'left';
