import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { EXIT, type ExitCode, isPaddletError, PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Host } from '../../base/seams.ts';
import { type JobRecord, readJobRecord } from '../../cluster/job/job-record.ts';
import { type JobEnd, parseJobEnd } from '../../cluster/job/job-watch.ts';
import { writeWhole } from '../../data/whole-file.ts';
import { asShort } from '../../host/log.ts';
import { onTetherLost } from '../../host/tether.ts';
import { type LoadedJob, loadJob } from '../../job/load-job.ts';
import type { Job } from '../../job/schema.ts';
import { settledAs } from '../../job/settle-records.ts';
import type { Sizes } from '../../roles/launcher/wanted-sizes.ts';
import { checkFirstRecords, type JobData } from '../../roles/master/dataset.ts';
import { type IndexedJob, indexJob } from '../../roles/master/index-job.ts';
import { refuseChangedData } from '../../roles/master/publish-job.ts';
import { refuseDifferences, standingOf } from '../../roles/master/standing.ts';
import { defaultChroot, keysOf } from '../../store/keys.ts';
import { openStore } from '../../store/open-store.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { KeyValue, Store } from '../../store/store.ts';
import { askYesNo, canAsk } from '../base/ask.ts';
import { checkWritable } from '../base/check-writable.ts';
import { durationFlag, milliseconds } from '../base/duration-flag.ts';
import { exitCodeOf } from '../base/errors.ts';
import { embeddedStore, hasStore, jobFolder } from '../base/find-store.ts';
import { removeLogs } from '../base/job-logs.ts';
import { jobNetwork } from '../base/job-network.ts';
import { removeListed, withListed } from '../base/listed-bad-records.ts';
import { resultText } from '../base/result-text.ts';
import { exposeFlags } from '../base/role-command.ts';
import { credentialArguments, storeCredentials } from '../base/store-credentials.ts';
import { cacheFlags, dataFlags, jobFlags, PaddletCommand, setFlags } from '../base-command.ts';
import { attach, checkAttachable, failureOf } from './attach.ts';
import { clusterPlan } from './cluster-plan.ts';
import { type ClusterRun, runCluster } from './cluster-run.ts';
import { continueJob } from './continue-job.ts';
import { dryRun } from './dry-run.ts';
import { dryRunText } from './dry-run-text.ts';
import { readJobBefore } from './job-before.ts';
import { checkMayDelete } from './may-delete.ts';
import { readCurve } from './read-curve.ts';
import { type ResetOptions, resetJob, untilAllHaveExited } from './reset-job.ts';
import { allSets, shortFormFlags } from './short-forms.ts';
import { startingSizes } from './starting-sizes.ts';
import { WorkingFolder } from './working-folder.ts';

export default class RunCommand extends PaddletCommand<typeof RunCommand> {
  static override summary = 'Run a whole cluster on this machine and train a job';
  static override description =
    `Starts a master, pservers and trainers as processes on this machine, restarts processes that fail, shows progress,
and prints the result. Ctrl-C stops the job cleanly; run the same command again to resume. If the job is finished, the
command only prints the result. To continue a finished job, raise training.passes. Only one \`paddlet run\` at a time
may use the folder of a job; to follow the run from another terminal, use --attach.`;
  static override examples = [
    { command: '<%= config.bin %> run examples/synth-fm.yaml', description: 'Train a job.' },
    {
      command: '<%= config.bin %> run examples/a9a-lr.yaml --data-dir ~/data --passes 10 -s training.batchSize=256',
      description: 'Train on data in another folder, with two settings changed.',
    },
    {
      command: '<%= config.bin %> run examples/a9a-lr.yaml --fresh --json',
      description: 'Delete the earlier run, start over, and print JSON for a script.',
    },
    {
      command: '<%= config.bin %> run examples/a9a-lr.yaml --dry-run',
      description: 'Show what the run would do: records, tasks, batches, memory, checkpoints.',
    },
    {
      command: '<%= config.bin %> run examples/a9a-lr.yaml --attach',
      description: "From another terminal, show the progress of this job's run.",
    },
  ];
  static override args = { job: Args.string({ required: true, description: 'Job file (YAML).' }) };
  static override flags = {
    ...jobFlags,
    ...dataFlags,
    ...cacheFlags,
    ...setFlags,
    ...shortFormFlags,
    ...exposeFlags,
    fresh: Flags.boolean({
      description:
        'Delete the earlier run of this job, including its checkpoints, and start over. If the earlier run is not finished, paddlet asks first.',
    }),
    yes: Flags.boolean({
      dependsOn: ['fresh'],
      description: 'Delete without asking. Requires --fresh, which otherwise asks before it deletes an unfinished run.',
    }),
    'stop-timeout': durationFlag(
      '60s',
      'Longest time to wait for processes to exit, for example after Ctrl-C. paddlet then kills them; when the job resumes, it repeats the work that was not saved.',
    ),
    'log-bytes': Flags.integer({
      env: 'PADDLET_LOG_BYTES',
      default: LIMITS.logFileBytes,
      min: LIMITS.leastLogFileBytes,
      helpValue: 'BYTES',
      description: `Size in bytes at which paddlet rotates a log file. paddlet keeps ${LIMITS.oldLogFiles} rotated files of each log.`,
    }),
    'dry-run': Flags.boolean({
      exclusive: ['attach'],
      description:
        'Show what the command would do, without doing it. The plan includes the size of the model and the amount of work. Only the index of the data is written, to the cache.',
    }),
    attach: Flags.boolean({
      exclusive: ['fresh'],
      description:
        'Show the progress of a run that another process started in the same folder. Ctrl-C ends only the display.',
    }),
  };

  override async execute(): Promise<ExitCode> {
    const { flags } = this;
    const host = this.host('run');
    const loaded = await loadJob({
      path: this.args.job,
      sets: allSets(flags),
      dataDir: flags['data-dir'],
      disk: host.disk,
    });
    this.identity.job = loaded.job.name;
    const folder = jobFolder(flags, loaded.job.name);
    const kill = new AbortController();
    const stop = this.stopSignal(() => kill.abort());
    const parts = {
      ...{ host, folder, loaded, stop, kill: kill.signal, logBytes: flags['log-bytes'] },
      stopLimitMs: milliseconds(flags['stop-timeout']),
    };
    if (flags['dry-run']) return this.dryRun(parts);
    if (flags.attach) {
      checkAttachable(folder, loaded.job.name);
      return this.withStore(parts, (run) => this.attach(run));
    }
    const working = await WorkingFolder.open(host, folder, loaded.job.name);
    try {
      // Before the store is created: a run whose data is refused leaves no job behind.
      const indexed =
        flags.store === undefined && !hasStore(folder) ? await this.indexData(host, loaded, undefined) : undefined;
      const code = await this.withStore(parts, (run) => this.start(run, working, indexed));
      working.ended(code);
      return code;
    } catch (error) {
      working.ended(exitCodeOf(error), error);
      throw error;
    } finally {
      working.close();
    }
  }

  private async dryRun(parts: Omit<ClusterRun, 'store' | 'url' | 'keys'>): Promise<ExitCode> {
    const { flags } = this;
    const { host, loaded, folder } = parts;
    const show = async (run: Omit<ClusterRun, 'store'> & { readonly store: Store | undefined }): Promise<ExitCode> => {
      const loadData = (published: Job | undefined) => this.indexData(host, loaded, published);
      const asking = { isAgreed: flags.yes, canAsk: !flags.json && canAsk() };
      const would = await dryRun({ ...run, ...asking, isFresh: flags.fresh, loadData });
      this.output(would, () => dryRunText(would));
      return EXIT.done;
    };
    const url = flags.store ?? embeddedStore(folder);
    const isThere = !url.startsWith('sqlite:') || existsSync(url.slice('sqlite:'.length));
    if (isThere) return this.withStore(parts, show);
    return show({ ...parts, store: undefined, url, keys: keysOf(flags.chroot ?? defaultChroot(loaded.job.name)) });
  }

  private async withStore(
    parts: Omit<ClusterRun, 'store' | 'url' | 'keys'>,
    act: (run: ClusterRun) => Promise<ExitCode>,
  ): Promise<ExitCode> {
    const { flags } = this;
    const { host, folder, loaded } = parts;
    const url = flags.store ?? embeddedStore(folder);
    const access = flags['dry-run'] ? 'read' : flags.attach ? 'write' : 'create';
    const credentials = storeCredentials(url, flags);
    const store = await openStore(url, { ...host, access, credentials }).catch((error: unknown) => {
      if (flags.store !== undefined) throw error;
      throw flags.fresh ? notRemoved(error, folder) : flags.attach ? inOtherStore(error, folder) : error;
    });
    try {
      return await act({ ...parts, store, url, keys: keysOf(flags.chroot ?? defaultChroot(loaded.job.name)) });
    } finally {
      await store.close();
    }
  }

  /** Everything that may refuse the run comes before anything is deleted, rewritten or started. */
  private async start(run: ClusterRun, working: WorkingFolder, indexed: IndexedJob | undefined): Promise<ExitCode> {
    const { host, loaded } = run;
    const standing = this.flags.fresh ? undefined : await standingOf(run, loaded.job);
    if (standing?.kind === 'ended') {
      if ('result' in standing.end) {
        host.log.info(
          `job ${loaded.job.name} was finished before: nothing is trained; --fresh trains it from the start`,
        );
      }
      return this.showEnd(standing.end, run);
    }
    const record = standing !== undefined && standing.kind !== 'new' ? standing.record : undefined;
    const { job, data } = indexed ?? (await this.indexData(host, loaded, record?.job));
    if (standing?.kind === 'unfinished') await this.showResume(run, standing.record);
    if (record !== undefined) refuseChangedData(record, data);
    // A job that cannot save would find out at its end.
    checkWritable(resolve(loaded.job.checkpoint.dir ?? join(run.folder, 'checkpoints')));
    if (this.flags.fresh) await this.startOver(run);
    if (loaded.piped !== undefined) {
      const text = Buffer.from(loaded.piped);
      await writeWhole(host, jobCopy(run.folder), (append) => append(text));
    }
    if (standing?.kind === 'continued') {
      await untilAllHaveExited(resetOptions(run));
      await continueJob(run, loaded.job, data);
    }
    if (record === undefined) logTasks(host, job, data);
    const log = { level: this.flags['log-level'], identity: this.identity, logBytes: run.logBytes };
    return this.train({ ...run, host: await working.startLog(host, log) }, record);
  }

  private async showResume(run: ClusterRun, record: JobRecord): Promise<void> {
    const { host, store, keys } = run;
    const { progress } = await retryUntilAnswered(resetOptions(run), () => readJobBefore(store, keys));
    const { mode, passes } = record.job.training;
    // In sync mode, the pservers' files decide from which round.
    const where = mode === 'sync' || progress === undefined ? '' : ` in pass ${progress.pass + 1} of ${passes}`;
    host.log.info(`job ${record.job.name} resumes${where}`);
  }

  private async attach(run: ClusterRun): Promise<ExitCode> {
    const { host, store, keys, loaded, stop } = run;
    const record = await retryUntilAnswered({ ...host, store, signal: stop }, () => readJobRecord(store, keys));
    if (record !== undefined) refuseDifferences(record.job, loaded.job);
    const end = await attach(run, this.progress('training'), (text) => {
      process.stderr.write(process.stderr.isTTY ? asShort(text, 'run') : text);
    });
    if (end.how === 'detached') {
      host.log.info('detached: the job continues');
      return EXIT.interrupted;
    }
    const result = await readResult(run);
    if (result !== undefined) return this.showEnd(parseJobEnd(result.key, result.value), run);
    const failure = failureOf(end.holder);
    if (failure !== undefined) throw failure;
    return EXIT.interrupted;
  }

  private stopSignal(atOnce: () => void): AbortSignal {
    const orphaned = new AbortController();
    onTetherLost(() => orphaned.abort());
    return AbortSignal.any([this.interruption(atOnce), orphaned.signal]);
  }

  private async startOver(run: ClusterRun): Promise<void> {
    const { store, keys, folder, loaded, stop } = run;
    const ask = resetOptions(run);
    const { progress } = await retryUntilAnswered(ask, () => readJobBefore(store, keys));
    await checkMayDelete({
      ...{ job: loaded.job.name, progress, isAgreed: this.flags.yes },
      ask: this.flags.json || !canAsk() ? undefined : (question) => askYesNo(question, stop),
    });
    await resetJob(ask);
    if (this.flags.store !== undefined) return;
    // Logs of other jobs in the same store have the same names.
    const { entries } = await retryUntilAnswered(ask, () => store.range({ prefix: '/', limit: 1 }));
    if (entries.length > 0) return;
    removeLogs(folder);
    removeListed(folder);
  }

  /** Before any process is started, so that missing or broken data is reported at once. */
  private async indexData(host: Host, { job, dataDir }: LoadedJob, published: Job | undefined): Promise<IndexedJob> {
    const progress = this.progress('indexing');
    try {
      const cacheFolder = resolve(this.flags['cache-dir']);
      const place = { host, folder: dataDir, cacheFolder, corruptChunks: job.data.corruptChunks };
      const known = published === undefined ? job : settledAs(published, job);
      await checkFirstRecords(place, known);
      return await indexJob(place, known);
    } finally {
      progress.end();
    }
  }

  /** `record` of a job that exists already. */
  private async train(run: ClusterRun, record: JobRecord | undefined): Promise<ExitCode> {
    const { host } = run;
    const sizes = await startingSizes(run, record);
    const flags = this.childFlags(run);
    let shown: ExitCode | undefined;
    const processes = {
      sizes,
      planned: (now: Sizes) => clusterPlan(now, flags),
      // A failure is shown by throwing it, which has to wait until all processes have ended.
      onJobEnd: ({ key, value }: KeyValue) => {
        const end = parseJobEnd(key, value);
        if ('result' in end) shown = this.showEnd(end, run);
      },
    };
    const end = await runCluster(run, processes, this.progress('training'));
    const result = shown === undefined ? await readResult(run) : undefined;
    if (result !== undefined) shown = this.showEnd(parseJobEnd(result.key, result.value), run);
    if (shown !== undefined) {
      await this.showCurve(run);
      return shown;
    }
    if (end.how === 'failed') throw end.failure;
    host.log.info('stopped; run the same command again to resume');
    return EXIT.interrupted;
  }

  private childFlags({ url, keys, folder, loaded }: ClusterRun) {
    const exposed = this.flags['expose-metrics'] ? ['--expose-metrics'] : [];
    const common = [
      ...exposed,
      '--store',
      url,
      '--chroot',
      keys.chroot,
      '--dir',
      folder,
      '--log-level',
      this.flags['log-level'],
      ...credentialArguments(this.flags),
    ];
    const cache = ['--cache-dir', resolve(this.flags['cache-dir'])];
    const data = ['--data-dir', loaded.dataDir];
    const sets = allSets(this.flags).flatMap((set) => ['--set', set]);
    return {
      master: [
        'master',
        loaded.piped === undefined ? loaded.path : jobCopy(folder),
        ...sets,
        ...common,
        ...cache,
        ...data,
      ],
      pserver: ['pserver', ...common],
      trainer: ['trainer', ...common, ...cache, ...data],
    };
  }

  private showEnd(end: JobEnd, { folder, loaded }: ClusterRun): ExitCode {
    if ('failure' in end) throw end.failure;
    const result = withListed(end.result, folder);
    this.output(result, () => resultText(result, loaded.job.training.classWeights));
    return EXIT.done;
  }

  /** On a terminal: a file has the numbers of `paddlet history`. */
  private async showCurve(run: ClusterRun): Promise<void> {
    if (this.flags.json || !process.stdout.isTTY) return;
    const curve = await readCurve(run, process.stdout.columns);
    if (curve !== undefined) this.say(curve);
  }
}

/** Shows the tasks of a new job: the number of records per task may be paddlet's choice. */
function logTasks({ log }: Host, { data: { recordsPerTask } }: Job, { train }: JobData): void {
  log.info('the training data is cut into tasks', {
    records: train.index.records,
    tasks: train.tasks.length,
    recordsPerTask,
  });
}

/** File name of the copy of a job file that came from a pipe: masters read it again. */
const jobCopy = (folder: string): string => join(folder, 'job.yaml');

/** How long a store that does not answer is asked for a result after a stop. */
const RESULT_WITHIN_MS = 5_000;

/** Also after an interruption: the job may have ended anyway. */
async function readResult({ host, store, keys, stop }: ClusterRun) {
  const limit = new AbortController();
  const ask = (): Promise<KeyValue | undefined> =>
    retryUntilAnswered({ ...host, store, signal: limit.signal }, () => store.get(keys.result));
  if (!stop.aborted) return ask();
  const cancel = host.clock.after(RESULT_WITHIN_MS, () => limit.abort());
  try {
    return await ask();
  } catch (error) {
    if (isPaddletError(error, 'Interrupted')) return undefined;
    throw error;
  } finally {
    cancel();
  }
}

const resetOptions = ({ host, store, keys, folder, loaded, stop }: ClusterRun): ResetOptions => ({
  ...{ ...host, store, keys, signal: stop },
  network: jobNetwork(host, store, keys),
  folder: join(folder, 'checkpoints'),
  leaseTtlMs: loaded.job.cluster.leaseTtlMs,
});

/** A run works in the folder that `--attach` names, but has no store there. */
function inOtherStore(error: unknown, folder: string): unknown {
  if (!isPaddletError(error, 'JobUnknown')) return error;
  return new PaddletError('JobUnknown', `the run in ${folder} has its job in another store: ${error.message}`, {
    hint: 'give the same --store (and --chroot) as that run; `ps` shows its command line',
    cause: error,
  });
}

/** A store that cannot be opened may not be the job's, or may be in use: it is not removed. */
function notRemoved(error: unknown, folder: string): unknown {
  if (!isPaddletError(error, 'StoreInvalid')) return error;
  return new PaddletError('StoreInvalid', error.message, {
    hint: `--fresh only removes what it can read: if no process uses ${folder}, remove it by hand`,
    cause: error,
  });
}
