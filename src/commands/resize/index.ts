import { Flags } from '@oclif/core';
import { counted } from '../../base/counted.ts';
import { EXIT, type ExitCode, PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Host } from '../../base/seams.ts';
import { isFolderLocked } from '../../host/folder-lock.ts';
import { defaultChroot } from '../../store/keys.ts';
import { STORE_LIMIT_MS } from '../base/command-store.ts';
import { durationFlag, milliseconds } from '../base/duration-flag.ts';
import { findStore } from '../base/find-store.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import type { SizesAsked } from '../base/size-bounds.ts';
import { credentialArguments } from '../base/store-credentials.ts';
import { type OpenJob, withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { byHand } from './by-hand.ts';
import { requestSizes, type Sizes } from './request-sizes.ts';
import type { ResizeState } from './resize-state.ts';
import { type Resized, resizeJson, resizeText } from './resize-text.ts';
import { watchResize } from './watch-resize.ts';

export default class ResizeCommand extends PaddletCommand<typeof ResizeCommand> {
  static override summary = 'Change the number of pservers or trainers of a job while it runs';
  static override description =
    `Changes the number of processes while training continues. Units (groups of shards) move one after another until
every pserver holds the same amount of parameters, to within 10 %. If the number of pservers decreases, the pservers
with the highest indexes hand over all their units and exit. If \`paddlet run\` started the job, it also starts and
stops the processes. Otherwise, this command prints which processes to start.

The command returns when the resize is complete. If you interrupt the command, the resize continues. You can resize
again at any time, even back to the old numbers.`;
  static override examples = [
    {
      command: '<%= config.bin %> resize clicks --pservers 4',
      description: 'Change the job `clicks` to four pservers.',
    },
    {
      command: '<%= config.bin %> resize clicks --pservers 2 --trainers 6 --store etcd://127.0.0.1:2379 --json',
      description: 'Change the numbers of pservers and trainers of a job in etcd, and print JSON for a script.',
    },
    {
      command: '<%= config.bin %> resize clicks --trainers 1 --no-wait',
      description: 'Request the resize and return; `<%= config.bin %> status` shows the progress of the resize.',
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    pservers: Flags.integer({
      min: 1,
      max: LIMITS.pservers,
      helpValue: 'N',
      description: 'New number of pservers, between cluster.minPservers and cluster.maxPservers of the job.',
    }),
    trainers: Flags.integer({
      min: 1,
      max: LIMITS.trainers,
      helpValue: 'N',
      description: 'New number of trainers, between cluster.minTrainers and cluster.maxTrainers of the job.',
    }),
    timeout: durationFlag(
      '10m',
      'Longest time to wait until the resize is complete. The store must answer within 10s.',
    ),
    'no-wait': Flags.boolean({
      description: 'Return as soon as the request is in the store; do not wait until it is carried out.',
    }),
  };

  override async execute(): Promise<ExitCode> {
    this.flags = namedJob(this.args.job, this.flags, this.typed);
    const { flags } = this;
    const asked: SizesAsked = { pservers: flags.pservers, trainers: flags.trainers };
    if (asked.pservers === undefined && asked.trainers === undefined) {
      throw new PaddletError('Usage', 'nothing to change: --pservers and --trainers are missing', {
        hint: 'pass the new number, as in `paddlet resize --pservers 4`',
      });
    }
    const host = this.host('resize');
    const limitMs = Math.min(milliseconds(flags.timeout), STORE_LIMIT_MS);
    const options = { flags, host, signal: this.interruption(), access: 'write' as const, limitMs };
    return withJob(options, (job) => this.resize(job, asked));
  }

  private async resize(job: OpenJob, asked: SizesAsked): Promise<ExitCode> {
    const { clock, log } = job.host;
    const startMs = clock.monotonicMs();
    const before = await requestSizes(job, asked);
    const wanted = { pservers: asked.pservers ?? before.pservers, trainers: asked.trainers ?? before.trainers };
    log.info(`job ${job.record.job.name}: ${changeText(before, wanted)}`);
    const state = this.flags['no-wait'] ? undefined : await this.waitFor(job, asked, wanted);
    if (state?.over === 'superseded') throw superseded(job);
    const seconds = Math.round(clock.monotonicMs() - startMs) / 1000;
    const resized: Resized = { job: job.record.job.name, before, wanted, state, seconds };
    this.output(resizeJson(resized), () => resizeText(resized, this.table.bind(this)));
    return EXIT.done;
  }

  private async waitFor(job: OpenJob, asked: SizesAsked, wanted: Sizes): Promise<ResizeState> {
    const { host, store, keys, record, signal } = job;
    const limit = AbortSignal.timeout(milliseconds(this.flags.timeout));
    const progress = this.progress('resizing');
    const say = onceEach((what) => host.log.info(`waiting for ${what}`));
    let waitingFor = '';
    try {
      return await watchResize({
        ...{ clock: host.clock, store, keys, asked },
        job: { units: record.units, copies: record.job.cluster },
        signal: AbortSignal.any([signal, limit]),
        onState: (state, { moved, total }) => {
          waitingFor = state.waitingFor.join('; ');
          if (state.over === undefined) say(state.waitingFor);
          progress.update(moved, total, waitingFor === '' ? undefined : `waiting for ${waitingFor}`);
        },
        onLate: (state) => this.sayByHand(host, state, asked, keys.chroot),
      });
    } catch (error) {
      if (signal.aborted) throw abandoned(wanted);
      if (limit.aborted) throw tooLate(waitingFor, this.flags.timeout);
      throw error;
    } finally {
      progress.end();
    }
  }

  private sayByHand(host: Host, state: ResizeState, asked: SizesAsked, chroot: string): void {
    const { flags } = this;
    const { url, folder } = findStore(flags);
    if (folder !== undefined && isFolderLocked(folder)) return;
    const name = chroot.slice(chroot.lastIndexOf('/') + 1);
    const isUsual = chroot === defaultChroot(name);
    const where = [
      ...(flags.chroot === undefined ? [] : isUsual ? [name] : ['--chroot', chroot]),
      ...['--store', url],
      ...(folder === undefined ? [] : ['--dir', folder]),
      ...credentialArguments(flags),
    ];
    for (const line of byHand(state, asked, where)) host.log.info(line);
  }
}

function changeText(before: Sizes, wanted: Sizes): string {
  const parts = (['pservers', 'trainers'] as const).flatMap((what) =>
    before[what] === wanted[what] ? [] : [`${what} ${before[what]} → ${wanted[what]}`],
  );
  if (parts.length === 0) return 'has these numbers already';
  const leaving = Array.from({ length: Math.max(0, before.pservers - wanted.pservers) }, (_, n) => wanted.pservers + n);
  const whoLeaves = leaving.length === 0 ? '' : `; pserver ${leaving.join(', ')} will hand over all units and leave`;
  return `${parts.join(', ')}${whoLeaves}`;
}

/** Says what is waited for when something else is: not each time that only a number has changed. */
function onceEach(say: (what: string) => void): (waitingFor: readonly string[]) => void {
  let said = '';
  return (waitingFor) => {
    const what = waitingFor.join('; ');
    const kind = what.replace(/^\d+|(?<=; )\d+/g, '');
    if (what !== '' && kind !== said) say(what);
    said = kind;
  };
}

const GOES_ON = 'the resize continues without this command';

const abandoned = ({ pservers, trainers }: Sizes): PaddletError =>
  new PaddletError(
    'Interrupted',
    `interrupted: ${GOES_ON} (${counted(pservers, 'pserver')}, ${counted(trainers, 'trainer')})`,
    {
      hint: 'to watch the resize, run the same command again; to undo it, resize to the previous numbers',
    },
  );

const tooLate = (waitingFor: string, timeout: string): PaddletError =>
  new PaddletError('RequestTimeout', `the resize was not complete within ${timeout}: waiting for ${waitingFor}`, {
    hint: `${GOES_ON}; to wait longer, run the command again with a higher --timeout; \`paddlet status\` shows its progress`,
  });

const superseded = ({ record }: OpenJob): PaddletError =>
  new PaddletError('JobConflict', `job ${record.job.name} was resized again to other numbers`, {
    hint: '`paddlet status` shows the current numbers',
  });
