/**
 * One run of a whole cluster on this machine: where it keeps its files, and the processes with their logs and progress.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isErrorCode, PaddletError } from '../../base/errors.ts';
import type { Cancel, Host } from '../../base/seams.ts';
import type { DirectingInfo } from '../../cluster/info.ts';
import { spawnSelf } from '../../host/processes.ts';
import type { LoadedJob } from '../../job/load-job.ts';
import { createProgressMeter } from '../../roles/launcher/job-progress.ts';
import { launch } from '../../roles/launcher/launcher.ts';
import type { ChildSpec, LaunchEnd } from '../../roles/launcher/supervised-child.ts';
import { watchMaster } from '../../roles/launcher/watch-master.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { jobNetwork } from '../base/job-network.ts';
import type { Progress } from '../base/waiting.ts';
import { logFolder } from './working-folder.ts';

export interface ClusterRun {
  readonly host: Host;
  readonly store: Store;
  readonly keys: Keys;
  /** URL of the store. */
  readonly url: string;
  /** Of the job: store.db, logs, checkpoints. */
  readonly folder: string;
  readonly loaded: LoadedJob;
  readonly stop: AbortSignal;
}

/** Starts the processes, shows progress and returns when all have ended. */
export async function runCluster(
  run: ClusterRun,
  children: readonly ChildSpec[],
  progress: Progress,
): Promise<LaunchEnd> {
  const { host, folder, stop, loaded } = run;
  const names = children.map(({ name }) => name).join(', ');
  host.log.info(`job ${loaded.job.name}: starting ${names}; logs in ${logFolder(folder)}`);
  const showing = showProgress(run, progress, (line) => host.log.info(line));
  try {
    return await launch({
      ...host,
      children,
      stop,
      spawn: ({ name, args }) => spawnSelf(args, { logFile: logFile(folder, name), tether: true }),
    });
  } finally {
    showing.cancel();
  }
}

/** Asks the master at intervals, and moves the bar. Each pass that ends is told to `onPass`. */
export function showProgress(run: ClusterRun, progress: Progress, onPass: (line: string) => void): { cancel: Cancel } {
  const { host } = run;
  const network = jobNetwork(host, run.store, run.keys);
  const cancelWatch = watchMaster({ ...run, ...host, network, onProgress: progressShower(host, progress, onPass) });
  return {
    cancel: () => {
      cancelWatch();
      progress.end();
    },
  };
}

function progressShower(
  { clock }: Host,
  progress: Progress,
  onPass: (line: string) => void,
): (info: DirectingInfo) => void {
  const meter = createProgressMeter();
  let passesLogged = 0;
  return (info) => {
    for (const { pass, loss } of info.ended.slice(passesLogged)) {
      const mean = loss === undefined ? '' : `: loss ${loss.toFixed(5)}`;
      onPass(`pass ${pass + 1} of ${info.passes} finished${mean}`);
    }
    passesLogged = info.ended.length;
    const { done, total, note } = meter(info, clock.monotonicMs());
    progress.update(done, total, note);
  };
}

const logFile = (folder: string, name: string): string => join(logFolder(folder), `${name.replace(' ', '-')}.log`);

const LOG_NAME = /^(?:run|master|(?:pserver|trainer)-\d+)\.log$/;

export function removeLogs(folder: string): void {
  const logs = logFolder(folder);
  if (!existsSync(logs)) return;
  for (const name of readdirSync(logs)) if (LOG_NAME.test(name)) rmSync(join(logs, name), { force: true });
}

/** The last error in the log of the process that failed, as it was printed. */
export function childFailure({ code, by }: { code: number; by: string }, folder: string): PaddletError {
  const file = logFile(folder, by);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const at = lines.findLastIndex((line) => line.startsWith('error '));
  const [, errorCode, text] = /^error (\w+): (.*)$/s.exec(lines.slice(at).join('\n')) ?? [];
  const [message, hint] = (text ?? `ended with exit code ${code}`).split('\nhint: ');
  return new PaddletError(isErrorCode(errorCode) ? errorCode : 'Internal', `${by}: ${message}`, {
    hint: hint ?? `see its log, ${file}`,
  });
}
