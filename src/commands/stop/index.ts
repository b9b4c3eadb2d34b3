import { Flags } from '@oclif/core';
import { EXIT, type ExitCode, PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { type Keys, keysOf } from '../../store/keys.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import type { Store } from '../../store/store.ts';
import { openCommandStore, STORE_LIMIT_MS } from '../base/command-store.ts';
import { durationFlag, milliseconds } from '../base/duration-flag.ts';
import { findChroot } from '../base/find-store.ts';
import { liveRoles, waitUntil } from '../base/job-wait.ts';
import { unknownJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { requestStop, warnUnreadable } from './request-stop.ts';

export default class StopCommand extends PaddletCommand<typeof StopCommand> {
  static override summary = 'Stop a job cleanly, to resume it later';
  static override description =
    `Asks every process of the job to exit: trainers return their tasks, pservers save their parameters. Returns when all
have exited. Start the job again to resume it.`;
  static override examples = [
    { command: '<%= config.bin %> stop', description: 'The only job in ./.paddlet.' },
    {
      command: '<%= config.bin %> stop --store etcd://127.0.0.1:2379 --chroot /paddlet/a9a-lr',
      description: 'One of several jobs in the same store.',
    },
  ];
  static override flags = {
    ...jobFlags,
    timeout: durationFlag('60s', 'How long to wait for the processes to exit; at most 10s for the store to answer.'),
    'no-wait': Flags.boolean({ description: 'Return at once, without waiting for the processes to exit.' }),
  };

  override async execute(): Promise<ExitCode> {
    const { flags } = this;
    const host = this.host('stop');
    const signal = this.interruption();
    const limitMs = Math.min(milliseconds(flags.timeout), STORE_LIMIT_MS);
    const { store, ask } = await openCommandStore({ flags, host, signal, access: 'write', limitMs });
    try {
      const chroot = await retryUntilAnswered(ask, () => findChroot(store, flags.chroot));
      const keys = chroot === undefined ? undefined : keysOf(chroot);
      const job = keys && (await retryUntilAnswered(ask, () => store.get(keys.job)));
      if (keys === undefined || job === undefined) throw unknownJob(store);
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
