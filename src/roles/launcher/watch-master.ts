/** Asks the master at intervals for the progress of the job. */
import type { Cancel, Clock, Log } from '../../base/seams.ts';
import type { Channel, Network } from '../../protocol/messages/channel.ts';
import { follow } from '../../store/follow.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { askInfo } from '../../view/ask-info.ts';
import type { DirectingInfo } from '../../view/info.ts';

const EVERY_MS = 300;

export interface WatchMasterOptions {
  readonly store: Store;
  readonly keys: Keys;
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
  readonly onProgress: (info: DirectingInfo) => void;
  /** Called with the address of each master that registers. */
  readonly onAddress: (address: string) => void;
}

export function watchMaster(options: WatchMasterOptions): Cancel {
  const { store, keys, network, clock, log, onProgress, onAddress } = options;
  let channel: Channel | undefined;
  let cancelTimer: Cancel = () => {};
  let cancelled = false;
  let lastProblem = '';

  const connectTo = (address: string | undefined): void => {
    channel?.close();
    channel = address === undefined ? undefined : network.connect(address);
    if (address !== undefined) onAddress(address);
  };
  const cancelFollow = follow(
    store,
    keys.masterAddr,
    {
      onSnapshot: (entries) => connectTo(entries.find(({ key }) => key === keys.masterAddr)?.value),
      onEvents: (events) => {
        for (const event of events) connectTo(event.type === 'put' ? event.entry.value : undefined);
      },
      // The roles notice the same and end; so does the run.
      onEnd: () => connectTo(undefined),
    },
    clock,
  );
  /** Once for each problem, not at each interval. */
  const warn = (problem: string): void => {
    if (problem !== lastProblem) log.warn(`cannot show progress: the master ${problem}`);
    lastProblem = problem;
  };
  const ask = async (): Promise<void> => {
    if (channel !== undefined) {
      const answer = await askInfo(channel);
      if (cancelled) return;
      if (answer.kind === 'notUnderstood') warn(answer.error.message);
      else if (answer.kind === 'info') {
        const { info } = answer;
        if (info.role !== 'master') warn(`did not answer: a ${info.role} has its address now`);
        else if (info.state === 'working') onProgress(info);
      }
    }
    cancelTimer = clock.after(EVERY_MS, () => void ask());
  };
  cancelTimer = clock.after(EVERY_MS, () => void ask());
  return () => {
    cancelled = true;
    cancelTimer();
    cancelFollow();
    channel?.close();
  };
}
