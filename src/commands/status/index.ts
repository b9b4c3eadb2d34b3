import { Flags } from '@oclif/core';
import { EXIT, type ExitCode, isPaddletError, PaddletError } from '../../base/errors.ts';
import type { Clock, Host } from '../../base/seams.ts';
import { CopyClient } from '../../cluster/client/copy-client.ts';
import { type Keys, keysOf } from '../../store/keys.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { Store } from '../../store/store.ts';
import { type JobView, viewOf } from '../../view/job-view.ts';
import { type CommandStore, openCommandStore, STORE_LIMIT_MS } from '../base/command-store.ts';
import { durationFlag, milliseconds } from '../base/duration-flag.ts';
import { findChroot, jobFolder, unknownJob, type WhereFlags, waitForChroot } from '../base/find-store.ts';
import { columnsOf } from '../base/fit.ts';
import { jobNetwork } from '../base/job-network.ts';
import { isReached, waitUntil } from '../base/job-wait.ts';
import { type Listed, listedIn } from '../base/listed-bad-records.ts';
import { openLiveCluster } from '../base/live-cluster.ts';
import { showLive } from '../base/live-view.ts';
import { lookAtJob } from '../base/look-at-job.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { QUIET_LOG } from '../base/quiet-log.ts';
import { type OpenJob, withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { statusJson } from './status-json.ts';
import { statusText } from './status-text.ts';
import { type CopiesVerification, verificationText, verifyCopies } from './verify-copies.ts';

/** What one look shows. */
interface Shown {
  readonly view: JobView;
  readonly listed: Listed;
}

export default class StatusCommand extends PaddletCommand<typeof StatusCommand> {
  static override summary = 'Show the status of a job, or wait until it runs or has ended';
  static override description =
    `Shows the job, its progress and its live processes. With --until running, returns when a master, all pservers and
at least one trainer are working. With --until done, returns when the job has ended. The exit code is then 0 if the job
succeeded; otherwise, it is the exit code of the failure.

With --verify, checks that all copies of each unit are bitwise equal. The job must have cluster.replicas of 2 or more.
Once all copies of a unit have applied the same updates, each copy computes a digest, and paddlet compares the digests.
A digest covers the parameters, the optimizer state and the record accounting. Training continues. The exit code is 7
if copies differ, and 6 if some copies could not be compared in time.`;
  static override examples = [
    { command: '<%= config.bin %> status clicks', description: 'Show the status of the job `clicks`.' },
    {
      command: '<%= config.bin %> status clicks --store etcd://127.0.0.1:2379 --until done --timeout 1h --json',
      description: 'Wait until the job has ended, then print its status as JSON.',
    },
    {
      command: '<%= config.bin %> status clicks --watch',
      description: 'Show the status and refresh it until the job has ended.',
    },
    {
      command: '<%= config.bin %> status clicks --verify --timeout 5m',
      description: 'Check that all copies of the parameters are equal; wait up to five minutes for each unit.',
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    until: Flags.option({
      options: ['running', 'done'] as const,
      description:
        'State to wait for: running (a master, all pservers and a trainer are working) or done (the job has ended).',
    })(),
    wide: Flags.boolean({
      description: 'Also show the machine, label, zone and lease of each process, and the copies of each unit.',
    }),
    watch: Flags.boolean({
      char: 'w',
      exclusive: ['until', 'verify'],
      description: 'Refresh the status until the job has ended. Press q or Ctrl-C to quit earlier.',
    }),
    interval: durationFlag('2s', 'Time between refreshes. Applies only with --watch.'),
    verify: Flags.boolean({
      exclusive: ['until', 'wide'],
      description: 'Check that all copies of each unit are equal.',
    }),
    timeout: durationFlag(
      '60s',
      'Longest time to wait for the state of --until, or for each unit that --verify compares. Without --until and --verify, the store must answer within 10s.',
    ),
  };

  override async execute(): Promise<ExitCode> {
    const isWaiting = this.flags.until !== undefined;
    this.flags = namedJob(this.args.job, this.flags, this.typed, { isAwaited: isWaiting });
    const { flags } = this;
    const host = this.host('status');
    if (flags.verify) return this.verify(host);
    const timeoutMs = milliseconds(flags.timeout);
    const limit = AbortSignal.timeout(timeoutMs);
    const interruption = this.interruption();
    const signal = isWaiting ? AbortSignal.any([interruption, limit]) : interruption;
    let opened: CommandStore | undefined;
    try {
      opened = await openCommandStore({
        ...{ flags, host, signal: interruption, isFileAwaited: isWaiting },
        access: isWaiting ? 'write' : 'read',
        limitMs: isWaiting ? timeoutMs : Math.min(timeoutMs, STORE_LIMIT_MS),
      });
      const { store, ask } = opened;
      const keys = await this.findJob(host, ask, signal);
      if (flags.until !== undefined) await this.waitFor(host, store, keys, flags.until, signal);
      const { folder } = opened;
      const { typed }: WhereFlags = flags;
      const retryStore = <T>(call: () => Promise<T>): Promise<T> => retryUntilAnswered(ask, call);
      const look = async (): Promise<Shown> => {
        const view = viewOf(await lookAtJob({ host, store, keys, folder, retryStore, typed }, { isWhole: true }));
        const ofJob = jobFolder({ dir: folder }, view.record.job.name);
        return { view, listed: listedIn(ofJob, view.result?.records.bad ?? 1) };
      };
      if (flags.watch) return await this.watch(host, interruption, look);
      const shown = await look();
      this.output(statusJson(shown.view, shown.listed), () => this.textOf(shown, host.clock));
      return exitOf(shown.view, flags.until);
    } catch (error) {
      if (limit.aborted && flags.until !== undefined && !isUnanswered(error)) throw tooLate(flags.until, timeoutMs);
      throw error;
    } finally {
      await opened?.store.close();
    }
  }

  private textOf({ view, listed }: Shown, clock: Clock): string {
    const isWide = this.flags.wide;
    const width = process.stdout.isTTY && !isWide ? { columns: columnsOf(process.stdout) } : {};
    return statusText(view, listed, clock.wallSeconds(), { table: this.table.bind(this), isWide, ...width });
  }

  /** With the exit code of the job, once it has ended. */
  private async watch(host: Host, signal: AbortSignal, look: () => Promise<Shown>): Promise<ExitCode> {
    const { clock } = host;
    let exit: ExitCode = EXIT.done;
    const end = await showLive({
      ...{ clock, isInLines: this.flags.json, signal, intervalMs: milliseconds(this.flags.interval) },
      look: async () => {
        const shown = await look();
        exit = exitOf(shown.view, 'done');
        const text = this.flags.json ? JSON.stringify(statusJson(shown.view, shown.listed)) : this.textOf(shown, clock);
        return { text, isLast: shown.view.end !== undefined };
      },
    });
    return end === 'over' ? exit : EXIT.interrupted;
  }

  private async verify(host: Host): Promise<ExitCode> {
    const verified = await withJob({ flags: this.flags, host, signal: this.interruption() }, (job) =>
      this.compareCopies(job),
    );
    this.output(verified, () => verificationText(verified));
    if (verified.different.length > 0) return EXIT.parametersLost;
    return verified.unsettled.length > 0 ? EXIT.jobFailed : EXIT.done;
  }

  private async compareCopies(job: OpenJob): Promise<CopiesVerification> {
    const { host, store, keys, record } = job;
    if (record.job.cluster.replicas === 1) throw notCopied();
    const fatal = new AbortController();
    const cluster = openLiveCluster({ ...job, host: { ...host, log: QUIET_LOG } }, (error) => fatal.abort(error));
    const client = new CopyClient(jobNetwork({ ...host, log: QUIET_LOG }, store, keys), record);
    const progress = this.progress('comparing copies');
    const signal = AbortSignal.any([job.signal, fatal.signal]);
    try {
      await cluster.view.changed.until(() => cluster.view.isLoaded() || undefined, signal);
      if (cluster.view.live().length === 0) throw notRunning();
      const onUnit = (done: number, total: number): void => progress.update(done, total);
      return await verifyCopies({ job, cluster, client, signal, onUnit });
    } finally {
      progress.end();
      client.close();
      cluster.close();
    }
  }

  private async findJob(host: Host, ask: CommandStore['ask'], signal: AbortSignal): Promise<Keys> {
    const { flags } = this;
    const { store } = ask;
    const found = await retryUntilAnswered(ask, () => findChroot(store, flags));
    if (found !== undefined) return keysOf(found);
    if (flags.until === undefined) throw await unknownJob(store, flags);
    const waiting = { ...host, store, signal };
    return keysOf(await retryUntilAnswered(waiting, () => waitForChroot(store, flags, host, signal)));
  }

  private async waitFor(
    host: Host,
    store: Store,
    keys: Keys,
    until: 'running' | 'done',
    signal: AbortSignal,
  ): Promise<void> {
    const wait = await this.wait(`waiting until the job is ${until}`);
    try {
      await waitUntil({ clock: host.clock, store, keys, signal }, (entries) => isReached(keys, entries, until));
    } finally {
      wait.done();
    }
  }
}

const notCopied = (): PaddletError =>
  new PaddletError('Usage', 'each unit of this job has only one copy, so there is nothing to compare', {
    hint: 'cluster.replicas in the job file sets the number of copies',
  });

const notRunning = (): PaddletError =>
  new PaddletError('Usage', 'no pserver of this job is running, so no copies can be compared', {
    hint: 'to check the checkpoints of the job, use `paddlet checkpoint verify`',
  });

/** Neither a file that no role has created yet is the store's fault, nor a limit too short for one answer. */
const isUnanswered = (error: unknown): boolean =>
  isPaddletError(error, 'StoreUnavailable') && error.details.kind !== 'missing' && error.cause !== undefined;

const tooLate = (until: string, ms: number): PaddletError =>
  new PaddletError('RequestTimeout', `the job was not ${until} within ${ms / 1000} s`, {
    hint: 'check the job with `paddlet status`, or raise --timeout',
  });

/** With `--until done` a failed job is a failure of the command. */
function exitOf({ end }: JobView, wait: 'running' | 'done' | undefined): ExitCode {
  return wait === 'done' && end !== undefined && 'failure' in end ? end.failure.exitCode : EXIT.done;
}
