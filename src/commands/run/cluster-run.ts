/**
 * One run of a whole cluster on this machine: where it keeps its files, and the processes with their logs and progress.
 */
import type { PaddletError } from '../../base/errors.ts';
import type { Cancel, Host } from '../../base/seams.ts';
import { type RunningProcess, spawnSelf } from '../../host/processes.ts';
import type { LoadedJob } from '../../job/load-job.ts';
import { launch, type WantedProcesses } from '../../roles/launcher/launcher.ts';
import { ProofOfDeath } from '../../roles/launcher/proof-of-death.ts';
import type { ChildSpec } from '../../roles/launcher/supervised-child.ts';
import type { LiveChild } from '../../roles/launcher/suspended-children.ts';
import { type Sizes, WantedSizes } from '../../roles/launcher/wanted-sizes.ts';
import { watchHealth } from '../../roles/launcher/watch-health.ts';
import { watchMaster } from '../../roles/launcher/watch-master.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue, Store } from '../../store/store.ts';
import { logFile, logFolder } from '../base/job-logs.ts';
import { jobNetwork } from '../base/job-network.ts';
import { QUIET_LOG } from '../base/quiet-log.ts';
import { PORT_VARIABLE } from '../base/role-command.ts';
import { RESUME_VARIABLE, startCommand } from '../base/start-command.ts';
import { SHARERS_VARIABLE } from '../base/trainer-threads.ts';
import type { Progress } from '../base/waiting.ts';
import { ChildPorts } from './child-ports.ts';
import { ChildReports } from './child-reports.ts';
import { RunProgress } from './run-progress.ts';
import { pageSayer } from './say-page.ts';

export interface ClusterRun {
  readonly host: Host;
  readonly store: Store;
  readonly keys: Keys;
  /** URL of the store. */
  readonly url: string;
  /** Folder of the job: store.db, logs, checkpoints. */
  readonly folder: string;
  readonly loaded: LoadedJob;
  readonly stop: AbortSignal;
  /** Aborts when all processes are to be killed. */
  readonly kill: AbortSignal;
  readonly stopLimitMs: number;
  /** How large a log file becomes before the next one is started. */
  readonly logBytes: number;
}

/** How the run ended; `failure` of the process that failed for good. */
export type ClusterEnd =
  | { readonly how: 'done' | 'stopped' }
  | { readonly how: 'failed'; readonly failure: PaddletError };

export interface ClusterProcesses {
  /** How many there are to be at first; `paddlet resize` changes that. */
  readonly sizes: Sizes;
  readonly planned: (sizes: Sizes) => readonly ChildSpec[];
  /** Called once, with the `/result`, while processes may still have to end. */
  readonly onJobEnd: (result: KeyValue) => void;
}

/** Starts the processes, shows progress and what they report, and returns when all have ended. */
export async function runCluster(
  run: ClusterRun,
  { sizes, planned, onJobEnd }: ClusterProcesses,
  progress: Progress,
): Promise<ClusterEnd> {
  const { host, folder, loaded } = run;
  const names = planned(sizes).map(({ name }) => name);
  host.log.info(`job ${loaded.job.name}: starting ${names.join(', ')}; logs in ${logFolder(folder)}`);
  const reports = new ChildReports(host.clock, host.log);
  const proof = new ProofOfDeath({ ...host, url: run.url, store: async () => run.store });
  const wantedSizes = new WantedSizes({ ...run, ...host }, sizes);
  const ports = new ChildPorts();
  const children = new Map<string, LiveChild>();
  const showing = showProgress(run, wantedSizes, progress, {
    onLine: (line) => host.log.info(line),
    onMaster: pageSayer(run),
    children: () => [...children.values()],
  });
  const wanted: WantedProcesses = {
    specs: () => planned(wantedSizes.current()),
    onChange: (react) => wantedSizes.onChange(react),
    onJobEnd: (react) =>
      wantedSizes.onJobEnd((result) => {
        showing.cancel();
        onJobEnd(result);
        react();
      }),
    look: () => wantedSizes.look(),
  };
  try {
    const spawn = (spec: ChildSpec): Promise<RunningProcess> =>
      spawnChild(run, spec, { reports, proof, ports, children });
    const end = await launch({ ...run, ...host, wanted, spawn });
    await proof.settle(run.kill, SETTLE_MS);
    if (end.how !== 'failed') return end;
    return { how: 'failed', failure: reports.failureOf(end.by, end.code, logFile(folder, end.by)) };
  } finally {
    showing.cancel();
    wantedSizes.cancel();
  }
}

interface Listeners {
  readonly reports: ChildReports;
  readonly proof: ProofOfDeath;
  readonly ports: ChildPorts;
  /** Children that live, keyed by name. */
  readonly children: Map<string, LiveChild>;
}

async function spawnChild(
  run: ClusterRun,
  { name, role, args }: ChildSpec,
  { reports, proof, ports, children }: Listeners,
): Promise<RunningProcess> {
  const { host, folder, kill, stopLimitMs, logBytes } = run;
  // The master is idle most of the time.
  const { pservers, trainers } = run.loaded.job.cluster;
  const life = proof.watch(name);
  const child = await spawnSelf(args, {
    ...{ logFile: logFile(folder, name), logBytes },
    onNoLog: (error) => host.log.warn(`${name} runs without a log: ${error.message}`),
    tether: { parent: 'launcher', stopLimitMs },
    env: {
      [PORT_VARIABLE]: String((await ports.of(name)) ?? ''),
      [RESUME_VARIABLE]: JSON.stringify(startCommand()),
      [SHARERS_VARIABLE]: String(pservers + trainers),
    },
    onReport: (report) => reports.take(name, report),
    onLease: (told) => life.told(told),
  }).catch((error: unknown) => {
    reports.notStarted(name, error);
    throw error;
  });
  const killChild = (): void => void child.kill('SIGKILL');
  if (kill.aborted) killChild();
  kill.addEventListener('abort', killChild);
  const { pid, isSuspended } = child;
  children.set(name, { name, role, pid, isSuspended, resume: () => void child.kill('SIGCONT') });
  void child.ended.then(() => {
    children.delete(name);
    life.exited();
    kill.removeEventListener('abort', killChild);
  });
  return child;
}

interface ShownTo {
  /** Gets a line for each pass that ends, and for each wait that lasts. */
  readonly onLine: (line: string) => void;
  /** Gets the address of each master. */
  readonly onMaster: (address: string) => void;
  /** Processes of this run. */
  readonly children: () => readonly LiveChild[];
}

/** Moves the bar by what the master says, and shows what the job waits for. */
export function showProgress(
  run: ClusterRun,
  sizes: Pick<WantedSizes, 'current'>,
  progress: Progress,
  { onLine, onMaster, children }: ShownTo,
): { cancel: Cancel } {
  const { host, store, keys, loaded } = run;
  const shown = new RunProgress({ progress, onLine });
  const watched = { ...host, store, keys };
  const cancels = [
    watchMaster({
      ...watched,
      network: jobNetwork(host, store, keys),
      onProgress: (info) => shown.heard(info),
      onAddress: onMaster,
    }),
    watchHealth({
      ...watched,
      // That a process does not answer is shown: failed connections need no log lines.
      network: jobNetwork({ ...host, log: QUIET_LOG }, store, keys),
      children,
      needs: () => ({ ...loaded.job.cluster, ...sizes.current() }),
      hasAdvanced: () => shown.hasAdvanced(),
      onWaiting: (waitingFor) => shown.waits(waitingFor),
    }),
  ];
  return {
    cancel: () => {
      for (const cancel of cancels) cancel();
      progress.end();
    },
  };
}

/** How long the end of a run waits for the store to end the leases of processes that were killed. */
const SETTLE_MS = 2_000;
