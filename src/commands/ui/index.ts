import { once } from 'node:events';
import { hostname } from 'node:os';
import { Flags } from '@oclif/core';
import { EXIT, type ExitCode, PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { newJoinToken } from '../../cluster/job/join-token.ts';
import { reachable } from '../../cluster/listen.ts';
import { formatAddress, parseAddress } from '../../protocol/websocket/address.ts';
import { createWebSocketNetwork } from '../../protocol/websocket/network.ts';
import { openCommandStore, storeTimeoutFlag } from '../base/command-store.ts';
import { milliseconds } from '../base/duration-flag.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { pageLink } from '../base/page-link.ts';
import { listenFlags } from '../base/role-command.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { servePage } from '../page/serve-page.ts';
import { openInBrowser } from './open-in-browser.ts';
import { StoreFeeds, type StoreFeedsOptions } from './store-feeds.ts';

export default class UiCommand extends PaddletCommand<typeof UiCommand> {
  static override summary = 'Serve a web page of all jobs in a store, including finished jobs';
  static override description =
    `Prints a link, and serves the page until you press Ctrl-C. For each job, the page shows the progress, the training
curves, the processes, what holds the job up, and the last log lines. The page is read-only. JOB is the job that the
page shows first. The link works only while this command runs. Other machines can use the link only if --listen
specifies an address that they can reach.`;
  static override examples = [
    { command: '<%= config.bin %> ui clicks --open', description: 'Open the page of the job `clicks` in the browser.' },
    {
      command: '<%= config.bin %> ui --store etcd://127.0.0.1:2379',
      description: 'Serve the page of all jobs in a store.',
    },
    {
      command: '<%= config.bin %> ui clicks --listen 0.0.0.0:8080',
      description: 'Serve the page to browsers on other machines; anyone who has the link can read the page.',
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    ...listenFlags,
    open: Flags.boolean({ description: "Open the page in this machine's browser." }),
    timeout: storeTimeoutFlag,
  };

  override async execute(): Promise<ExitCode> {
    const flags = namedJob(this.args.job, this.flags, this.typed);
    const host = this.host('ui');
    const signal = this.interruption();
    const limitMs = milliseconds(flags.timeout);
    const { store, folder } = await openCommandStore({ flags, host, signal, access: 'read', limitMs });
    try {
      return await this.serve(host, { store, folder, chroot: flags.chroot }, signal);
    } finally {
      await store.close();
    }
  }

  private async serve(
    host: Host,
    shown: Pick<StoreFeedsOptions, 'store' | 'folder' | 'chroot'>,
    signal: AbortSignal,
  ): Promise<ExitCode> {
    const { flags } = this;
    const token = Uint8Array.from(Buffer.from(newJoinToken(host.random), 'hex'));
    // Processes of a job cannot know it: only browsers can join.
    const joinToken = { current: async () => token, refresh: async () => token };
    const feeds = new StoreFeeds({ host, ...shown });
    const { http, onViewer } = servePage(
      (job, viewer) => feeds.add(job, viewer),
      () => feeds.close(),
    );
    const reached = reachable(parseAddress(flags.listen, { allowPortZero: true }).host, hostname());
    const server = await createWebSocketNetwork({ ...host, joinToken }).listen({
      listen: flags.listen,
      advertise: reached,
      allow: { hosts: flags['allow-host'], origins: flags['allow-origin'] },
      handler: () => {
        throw new PaddletError('WrongRole', '`paddlet ui` answers browsers only');
      },
      http: async (path) => http(path),
      onViewer,
      takesViewersOnly: true,
    });
    try {
      const link = pageLink(formatAddress({ host: reached, port: server.port }), token);
      this.output({ link }, () => link);
      if (flags.open) openInBrowser(link, host.log);
      if (!signal.aborted) await once(signal, 'abort');
      return EXIT.interrupted;
    } finally {
      await feeds.close();
      await server.close();
    }
  }
}
