import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { EXIT, type ExitCode, isErrorCode, isPaddletError, PaddletError } from '../base/errors.ts';
import type { Host } from '../base/seams.ts';
import { type JobRecord, readJobRecord } from '../cluster/job/job-record.ts';
import { parseJobEnd } from '../cluster/job/job-watch.ts';
import { onTetherLost, spawnSelf } from '../host/processes.ts';
import { diffJobs } from '../job/diff-jobs.ts';
import { type LoadedJob, loadJob } from '../job/load-job.ts';
import { createWebSocketNetwork } from '../protocol/websocket/network.ts';
import { createProgressMeter } from '../roles/launcher/job-progress.ts';
import { type ChildSpec, launch } from '../roles/launcher/launcher.ts';
import { watchMaster } from '../roles/launcher/watch-master.ts';
import { loadJobData } from '../roles/master/dataset.ts';
import { defaultChroot, type Keys, keysOf } from '../store/keys.ts';
import { openStore } from '../store/open-store.ts';
import { type RetryOptions, retryWhileAway } from '../store/retry-store.ts';
import type { Store } from '../store/store.ts';
import { clusterPlan } from './base/cluster-plan.ts';
import { embeddedStore, jobFolder } from './base/find-store.ts';
import { resetJob } from './base/reset-job.ts';
import { resultText } from './base/result-text.ts';
import { cacheFlags, dataFlags, jobFlags, PaddletCommand, setFlags } from './base-command.ts';

export default class RunCommand extends PaddletCommand<typeof RunCommand> {
  static override summary = 'Run a whole cluster on this machine and train a job';
  static override description =
    `Starts a master, the pservers and the trainers of the job as processes, starts again what dies, shows how far it
is, and ends with the result. Ctrl-C stops cleanly; the same command goes on from there. A finished job's result is shown again.`;
  static override examples = [
    { command: '<%= config.bin %> run examples/synth-fm.yaml', description: 'Train.' },
    {
      command: '<%= config.bin %> run examples/a9a-lr.yaml --data-dir ~/data --set training.passes=10',
      description: 'Data from elsewhere, one setting changed.',
    },
    { command: '<%= config.bin %> run examples/a9a-lr.yaml --fresh --json', description: 'Anew, for a script.' },
  ];
  static override args = { job: Args.string({ required: true, description: 'Job file (YAML).' }) };
  static override flags = {
    ...jobFlags,
    ...dataFlags,
    ...cacheFlags,
    ...setFlags,
    fresh: Flags.boolean({ description: 'Forget an earlier run of this job, with its checkpoints, and begin anew.' }),
  };

  override async execute(): Promise<ExitCode> {
    const { flags } = this;
    const host = this.host('run');
    const loaded = await loadJob({ path: this.args.job, sets: flags.set, dataDir: flags['data-dir'], disk: host.disk });
    const folder = jobFolder(flags, loaded.job.name);
    const stop = this.stopSignal();
    mkdirSync(join(folder, 'logs'), { recursive: true });
    const url = flags.store ?? embeddedStore(folder);
    const store = await openStore(url, host).catch((error: unknown) => {
      throw flags.fresh && flags.store === undefined ? notForgotten(error, folder) : error;
    });
    const keys = keysOf(flags.chroot ?? defaultChroot(loaded.job.name));
    try {
      const ask = { ...host, store, signal: stop };
      if (flags.fresh) {
        const { leaseTtlMs } = loaded.job.cluster;
        const network = createWebSocketNetwork(host);
        await resetJob({ ...ask, network, keys, folder: join(folder, 'checkpoints'), leaseTtlMs });
        if (flags.store === undefined) await removeLogs(ask, folder);
      }
      const before = await retryWhileAway(ask, () => store.get(keys.result));
      if (before !== undefined) {
        const record = await retryWhileAway(ask, () => readJobRecord(store, keys));
        warnOfDifferences(host, record, loaded);
        return this.showEnd(before);
      }
      await this.indexData(host, loaded);
      return await this.train({ host, store, keys, folder, url, loaded, stop });
    } finally {
      await store.close();
    }
  }

  private stopSignal(): AbortSignal {
    const orphaned = new AbortController();
    onTetherLost(() => orphaned.abort());
    return AbortSignal.any([this.interruption(), orphaned.signal]);
  }

  /** Before any process is started: data that is missing or broken is the user's to know at once. */
  private async indexData(host: Host, { job, dataDir }: LoadedJob): Promise<void> {
    const progress = this.progress('indexing');
    try {
      await loadJobData({ host, folder: dataDir, cacheFolder: resolve(this.flags['cache-dir']) }, job);
    } finally {
      progress.end();
    }
  }

  private async train(run: Run): Promise<ExitCode> {
    const { host, store, keys, folder, stop } = run;
    const children = clusterPlan(run.loaded.job.cluster, this.childFlags(run));
    host.log.info(
      `job ${run.loaded.job.name}: ${children.map(({ name }) => name).join(', ')}; logs in ${join(folder, 'logs')}`,
    );
    const progress = this.progress('training');
    const meter = createProgressMeter();
    let passesSaid = 0;
    const cancelWatch = watchMaster({
      store,
      keys,
      network: createWebSocketNetwork(host),
      clock: host.clock,
      log: host.log,
      onProgress: (info) => {
        for (const { pass, loss } of info.ended.slice(passesSaid)) {
          const mean = loss === undefined ? '' : `: loss ${loss.toFixed(5)}`;
          host.log.info(`pass ${pass + 1} of ${info.passes} finished${mean}`);
        }
        passesSaid = info.ended.length;
        const { done, total, note } = meter(info, host.clock.monotonicMs());
        progress.update(done, total, note);
      },
    });
    const launcher = launch({
      clock: host.clock,
      log: host.log,
      children,
      stop,
      spawn: (spec) => spawnSelf(spec.args, { logFile: logFile(folder, spec), tether: true }),
    });
    const end = await launcher.ended;
    cancelWatch();
    progress.end();
    const written = await retryWhileAway({ ...host, store, signal: new AbortController().signal }, () =>
      store.get(keys.result),
    );
    if (written !== undefined) return this.showEnd(written);
    if (end.how === 'failed') throw childFailure(end, folder);
    host.log.info('stopped; the same command goes on from here');
    return EXIT.interrupted;
  }

  private childFlags({ url, keys, folder, loaded }: Run) {
    const common = ['--store', url, '--chroot', keys.chroot, '--dir', folder, '--log-level', this.flags['log-level']];
    const cache = ['--cache-dir', resolve(this.flags['cache-dir'])];
    const data = ['--data-dir', loaded.dataDir];
    const sets = this.flags.set.flatMap((set) => ['--set', set]);
    return {
      master: ['master', loaded.path, ...sets, ...common, ...cache, ...data],
      pserver: ['pserver', ...common],
      trainer: ['trainer', ...common, ...cache, ...data],
    };
  }

  private showEnd({ key, value }: { key: string; value: string }): ExitCode {
    const end = parseJobEnd(key, value);
    if ('failure' in end) throw end.failure;
    this.output(end.result, () => resultText(end.result));
    return EXIT.done;
  }
}

interface Run {
  readonly host: Host;
  readonly store: Store;
  readonly keys: Keys;
  readonly folder: string;
  readonly url: string;
  readonly loaded: LoadedJob;
  readonly stop: AbortSignal;
}

/** The result that is shown again is that of the job as it was run. */
function warnOfDifferences(host: Host, record: JobRecord | undefined, { job }: LoadedJob): void {
  const differences = record === undefined ? [] : diffJobs(record.job, job).map(({ field }) => field);
  if (differences.length === 0) return;
  host.log.warn(`this job was finished with other settings (${differences.join(', ')}); --fresh begins anew`);
}

const logFile = (folder: string, { name }: Pick<ChildSpec, 'name'>): string =>
  join(folder, 'logs', `${name.replace(' ', '-')}.log`);

/** What cannot be opened is not known to be the job's, or that nobody uses it: it is not removed. */
function notForgotten(error: unknown, folder: string): unknown {
  if (!isPaddletError(error, 'StoreInvalid')) return error;
  return new PaddletError('StoreInvalid', error.message, {
    hint: `--fresh removes only what it can read: if ${folder} is the job's and nothing runs there, remove it yourself`,
    cause: error,
  });
}

/** Logs of the run that is forgotten, unless the store in the folder has other jobs, whose logs have the same names. */
async function removeLogs(ask: RetryOptions & { readonly store: Store }, folder: string): Promise<void> {
  const { entries } = await retryWhileAway(ask, () => ask.store.range({ prefix: '/', limit: 1 }));
  if (entries.length > 0) return;
  const logs = join(folder, 'logs');
  for (const name of readdirSync(logs)) if (LOG_NAME.test(name)) rmSync(join(logs, name), { force: true });
}

const LOG_NAME = /^(?:master|(?:pserver|trainer)-\d+)\.log$/;

/** What the child said last, as it said it. */
function childFailure(end: { code: number; by: string }, folder: string): PaddletError {
  const file = logFile(folder, { name: end.by });
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const at = lines.findLastIndex((line) => line.startsWith('error '));
  const said = /^error (\w+): (.*)$/s.exec(lines.slice(at).join('\n'));
  const [, code, text] = said ?? [];
  const [message, hint] = (text ?? `it ended with exit code ${end.code}`).split('\nhint: ');
  return new PaddletError(isErrorCode(code) ? code : 'Internal', `${end.by}: ${message}`, {
    hint: hint ?? `its log is ${file}`,
  });
}
