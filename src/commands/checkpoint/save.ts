import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { createMasterClient } from '../../cluster/client/master-client.ts';
import { allSettledOrThrow } from '../../cluster/client/pserver-group.ts';
import { type JobRecord, readJobRecord } from '../../cluster/job/job-record.ts';
import { createWebSocketNetwork } from '../../protocol/websocket/network.ts';
import { keysOf } from '../../store/keys.ts';
import { openStore } from '../../store/open-store.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import { durationFlag, milliseconds } from '../base/duration-flag.ts';
import { findChroot, findStore } from '../base/find-store.ts';
import { type JobInStore, openLiveCluster } from '../base/live-cluster.ts';
import { untilEnd } from '../base/until-end.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';

interface Saved {
  readonly index: number;
  /** `running`: this pserver was saving already and ignored the request. */
  readonly outcome: 'saved' | 'running';
  readonly uuid?: string;
  readonly md5?: string;
  readonly bytes?: number;
}

/** In mode sync. */
interface SavedCut {
  readonly outcome: 'saved' | 'running';
  readonly round?: number;
  readonly timeline?: number;
}

interface Outcome {
  readonly cut?: SavedCut;
  readonly pservers: readonly Saved[];
}

export default class CheckpointSaveCommand extends PaddletCommand<typeof CheckpointSaveCommand> {
  static override summary = 'Have the pservers of a running job save now';
  static override description =
    `Every pserver writes a checkpoint of its shards while training goes on, and publishes it. One that is saving already
ignores the request and says so. In mode sync the master has all of them save one and the same round, a cut.`;
  static override examples = [
    { command: '<%= config.bin %> checkpoint save', description: 'The only job under ./.paddlet.' },
    { command: '<%= config.bin %> checkpoint save --store etcd://127.0.0.1:2379 --json', description: 'For a script.' },
  ];
  static override flags = {
    ...jobFlags,
    timeout: durationFlag('10m', 'How long to wait for the files.'),
  };

  override async execute(): Promise<void> {
    const { flags } = this;
    const host = this.host('checkpoint');
    const signal = this.interruption();
    const store = await openStore(findStore(flags).url, host);
    try {
      const ask = { ...host, store, signal };
      const chroot = await retryUntilAnswered(ask, () => findChroot(store, flags.chroot));
      const keys = chroot === undefined ? undefined : keysOf(chroot);
      const record = keys && (await retryUntilAnswered(ask, () => readJobRecord(store, keys)));
      if (keys === undefined || record === undefined) throw new PaddletError('JobUnknown', `no job in ${store.url}`);
      if ((await retryUntilAnswered(ask, () => store.get(keys.result))) !== undefined) {
        throw hasEnded(record);
      }
      const job = { host, store, keys, record };
      const limit = AbortSignal.timeout(milliseconds(flags.timeout));
      const outcome = await untilEnd(job, AbortSignal.any([signal, limit]), (either, crash) =>
        record.job.training.mode === 'sync' ? this.takeCut(job, either, crash) : this.save(job, either, crash),
      ).catch((error: unknown) => {
        throw limit.aborted && !signal.aborted && isPaddletError(error, 'Interrupted') ? tooLate() : error;
      });
      if (outcome === undefined) throw hasEnded(record);
      const { cut, pservers } = outcome;
      const lines = pservers.map(lineOf);
      if (cut !== undefined) lines.unshift(cutLine(cut));
      this.output({ job: record.job.name, ...(cut && { cut }), pservers }, () => lines.join('\n'));
    } finally {
      await store.close();
    }
  }

  private async save(job: JobInStore, signal: AbortSignal, crash: (error: Error) => void): Promise<Outcome> {
    const { group, close } = openLiveCluster(job, crash);
    const wait = await this.wait('saving');
    try {
      const pservers = await group.withPlacement(
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
      return { pservers };
    } finally {
      wait.done();
      close();
    }
  }

  private async takeCut(
    { host, store, keys, record }: JobInStore,
    signal: AbortSignal,
    crash: (error: Error) => void,
  ): Promise<Outcome> {
    const context = { host, store, keys, network: createWebSocketNetwork(host) };
    const master = createMasterClient(context, crash);
    const wait = await this.wait('taking a cut');
    try {
      const header = { type: 'checkpoint' as const, job: record.id, batchPlanId: record.batchPlanId, final: false };
      const reply = await master.request({ header }, { timeoutMs: milliseconds(this.flags.timeout), signal });
      reply.free();
      const { outcome, cut } = reply.header;
      if (outcome === 'running' || cut === undefined) return { cut: { outcome: 'running' }, pservers: [] };
      const { files, ...which } = cut;
      return { cut: { outcome, ...which }, pservers: files.map((file) => ({ outcome, ...file })) };
    } finally {
      wait.done();
      master.close();
    }
  }
}

const hasEnded = ({ job }: JobRecord): PaddletError =>
  new PaddletError('JobUnknown', `job ${job.name} has ended: its final checkpoints are published`);

const tooLate = (): PaddletError =>
  new PaddletError('RequestTimeout', 'the files were not written in time', {
    hint: 'whether the job is at work says paddlet status; a longer --timeout waits longer',
  });

function cutLine({ outcome, round, timeline }: SavedCut): string {
  if (outcome === 'running') return 'the master is taking a cut already; the request is ignored';
  return `cut of round ${round}, timeline ${timeline}`;
}

function lineOf({ index, outcome, uuid, bytes }: Saved): string {
  if (outcome === 'running') return `pserver ${index}: is saving already; the request is ignored`;
  return `pserver ${index}: ${uuid} (${bytes} bytes)`;
}
