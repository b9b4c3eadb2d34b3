import { PaddletError } from '../../base/errors.ts';
import { readJobRecord } from '../../roles/job-record.ts';
import { allSettledOrThrow } from '../../roles/pserver-group.ts';
import { keysOf } from '../../store/keys.ts';
import { openStore } from '../../store/open-store.ts';
import { retryWhileAway } from '../../store/retry-while-away.ts';
import { durationFlag, milliseconds } from '../base/duration-flag.ts';
import { findChroot, findStore } from '../base/find-store.ts';
import { type JobInStore, openLiveCluster } from '../base/live-cluster.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';

interface Saved {
  readonly index: number;
  /** `running`: this pserver was saving already and ignored the request. */
  readonly outcome: 'saved' | 'running';
  readonly uuid?: string;
  readonly md5?: string;
  readonly bytes?: number;
}

export default class CheckpointSaveCommand extends PaddletCommand<typeof CheckpointSaveCommand> {
  static override summary = 'Have the pservers of a running job save now';
  static override description =
    `Every pserver writes a checkpoint of its shards while training goes on, and publishes it. One that is saving already
ignores the request and says so.`;
  static override examples = [
    { command: '<%= config.bin %> checkpoint save', description: 'The only job under ./.paddlet.' },
    { command: '<%= config.bin %> checkpoint save --store etcd://127.0.0.1:2379 --json', description: 'For a script.' },
  ];
  static override flags = {
    ...jobFlags,
    timeout: durationFlag('10m', 'How long a pserver may take.'),
  };

  override async execute(): Promise<void> {
    const { flags } = this;
    const host = this.host('checkpoint');
    const signal = this.interruption();
    const store = await openStore(findStore(flags).url, host);
    try {
      const ask = { ...host, store, signal };
      const chroot = await retryWhileAway(ask, () => findChroot(store, flags.chroot));
      const keys = chroot === undefined ? undefined : keysOf(chroot);
      const record = keys && (await retryWhileAway(ask, () => readJobRecord(store, keys)));
      if (keys === undefined || record === undefined) throw new PaddletError('JobUnknown', `no job in ${store.url}`);
      if ((await retryWhileAway(ask, () => store.get(keys.result))) !== undefined) {
        throw new PaddletError('JobUnknown', `job ${record.job.name} has ended: its final checkpoints are published`);
      }
      const saved = await this.save({ host, store, keys, record }, signal);
      this.output({ job: record.job.name, pservers: saved }, () => saved.map(lineOf).join('\n'));
    } finally {
      await store.close();
    }
  }

  private async save(job: JobInStore, signal: AbortSignal): Promise<Saved[]> {
    const { group, close } = openLiveCluster(job);
    const wait = await this.wait('saving');
    try {
      return await group.withPlacement(
        'checkpoint save',
        (placement) =>
          allSettledOrThrow(
            placement.pservers.map(async (pserver): Promise<Saved> => {
              const reply = await group.ask(
                pserver,
                'checkpoint',
                { final: false },
                [],
                milliseconds(this.flags.timeout),
              );
              reply.free();
              const { outcome, saved } = reply.header;
              return { index: pserver.index, outcome, ...saved };
            }),
          ),
        signal,
      );
    } finally {
      wait.done();
      close();
    }
  }
}

function lineOf({ index, outcome, uuid, bytes }: Saved): string {
  if (outcome === 'running') return `pserver ${index}: is saving already; the request is ignored`;
  return `pserver ${index}: ${uuid} (${bytes} bytes)`;
}
