/**
 * One run of a whole cluster on this machine: where it keeps its files, and the processes with their logs and progress.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isErrorCode, PaddletError } from '../../base/errors.ts';
import type { Cancel, Host } from '../../base/seams.ts';
import { spawnSelf } from '../../host/processes.ts';
import type { LoadedJob } from '../../job/load-job.ts';
import { createWebSocketNetwork } from '../../protocol/websocket/network.ts';
import { launch } from '../../roles/launcher/launcher.ts';
import type { ChildSpec, LaunchEnd } from '../../roles/launcher/supervised-child.ts';
import { watchHealth } from '../../roles/launcher/watch-health.ts';
import { watchMaster } from '../../roles/launcher/watch-master.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { QUIET_LOG } from '../base/quiet-log.ts';
import { RESUME_VARIABLE, startCommand } from '../base/start-command.ts';
import type { Progress } from '../base/waiting.ts';
import { RunProgress } from './run-progress.ts';
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
  const env = { [RESUME_VARIABLE]: JSON.stringify(startCommand()) };
  try {
    return await launch({
      ...host,
      children,
      stop,
      spawn: ({ name, args }) => spawnSelf(args, { logFile: logFile(folder, name), tether: true, env }),
    });
  } finally {
    showing.cancel();
  }
}

/**
 * Moves the bar by what the master says, and shows what the job waits for. `onLine` gets a line for each pass that
 * ends, and for each wait that lasts.
 */
export function showProgress(run: ClusterRun, progress: Progress, onLine: (line: string) => void): { cancel: Cancel } {
  const { host, store, keys, loaded } = run;
  const shown = new RunProgress({ ...host, progress, onLine });
  const watched = { ...host, store, keys };
  const cancels = [
    watchMaster({ ...watched, network: createWebSocketNetwork(host), onProgress: (info) => shown.heard(info) }),
    watchHealth({
      ...watched,
      // That a process does not answer is shown: failed connections need no log lines.
      network: createWebSocketNetwork({ ...host, log: QUIET_LOG }),
      needs: loaded.job.cluster,
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
