import { Flags } from '@oclif/core';
import { EXIT, type ExitCode, PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { type Keys, keysOf } from '../../store/keys.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { Store } from '../../store/store.ts';
import { openCommandStore, STORE_LIMIT_MS } from '../base/command-store.ts';
import { durationFlag, milliseconds } from '../base/duration-flag.ts';
import { findChroot, unknownJob } from '../base/find-store.ts';
import { liveRoles, waitUntil } from '../base/job-wait.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { requestStop, warnUnreadable } from './request-stop.ts';

export default class StopCommand extends PaddletCommand<typeof StopCommand> {
  static override summary = 'Stop a job cleanly so that it can be resumed';
  static override description =
    `Asks every process of the job to exit: trainers return their tasks to the master, and pservers save their
parameters. The command returns when all processes have exited. To resume the job, start it again.`;
  static override examples = [
    { command: '<%= config.bin %> stop clicks', description: 'Stop the job `clicks`.' },
    {
      command: '<%= config.bin %> stop a9a-lr --store etcd://127.0.0.1:2379',
      description: 'Stop one of several jobs in the same store.',
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    timeout: durationFlag('60s', 'Longest time to wait for the processes to exit. The store must answer within 10s.'),
    'no-wait': Flags.boolean({
      description: 'Return as soon as the request is in the store; do not wait until it is carried out.',
    }),
  };

  override async execute(): Promise<ExitCode> {
    const flags = namedJob(this.args.job, this.flags, this.typed);
    const host = this.host('stop');
    const signal = this.interruption();
    const limitMs = Math.min(milliseconds(flags.timeout), STORE_LIMIT_MS);
    const { store, ask } = await openCommandStore({ flags, host, signal, access: 'write', limitMs });
    try {
      const chroot = await retryUntilAnswered(ask, () => findChroot(store, flags));
      const keys = chroot === undefined ? undefined : keysOf(chroot);
      const job = keys && (await retryUntilAnswered(ask, () => store.get(keys.job)));
      if (keys === undefined || job === undefined) throw await unknownJob(store, flags);
      warnUnreadable(host.log, job);
      await requestStop(ask, keys, job);
      if (flags['no-wait']) {
        this.output({ stopped: false, requested: true }, () => 'the job was asked to stop');
        return EXIT.done;
      }
      await this.waitForLeaving(host, store, keys, signal);
      this.output({ stopped: true }, () => 'stopped');
      return EXIT.done;
    } finally {
      await store.close();
    }
  }

  private async waitForLeaving(host: Host, store: Store, keys: Keys, signal: AbortSignal): Promise<void> {
    const wait = await this.wait('waiting for the processes to exit');
    const limit = AbortSignal.timeout(milliseconds(this.flags.timeout));
    let alive: string[] = [];
    try {
      const either = AbortSignal.any([signal, limit]);
      await waitUntil({ clock: host.clock, store, keys, signal: either }, (entries) => {
        alive = liveRoles(keys, entries);
        wait.text(`waiting for ${alive.length} processes to exit`);
        return alive.length === 0;
      });
    } catch (error) {
      if (!limit.aborted) throw error;
      throw new PaddletError('RequestTimeout', `still running: ${alive.join(', ')}`, {
        hint: 'the job may still stop: check with `paddlet status`, or raise --timeout',
      });
    } finally {
      wait.done();
    }
  }
}
