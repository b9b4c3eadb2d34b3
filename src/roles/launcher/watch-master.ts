/** Asks the master now and again where the job stands. */
import * as z from 'zod';
import type { Cancel, Clock } from '../../base/seams.ts';
import { askInfo } from '../../cluster/job/ask-info.ts';
import type { Channel, Network } from '../../protocol/messages/channel.ts';
import { follow } from '../../store/follow.ts';
import type { Keys } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';

const count = z.int().min(0);

const standingSchema = z.object({
  phase: z.enum(['training', 'evaluating', 'concluding']),
  passes: count,
  /** Records in a pass. */
  records: count,
  ended: z.array(z.object({ pass: count, loss: z.number().optional() })),
  /** Mode async. */
  tasks: z.object({ pass: count, total: count, done: count, pending: count, discarded: count }).optional(),
  sums: z.object({ read: count, good: count }).optional(),
  /** Mode sync. Without a round while not all pservers are there. */
  rounds: z
    .object({
      total: count,
      round: count.optional(),
      pass: count.optional(),
      ofPass: z.object({ round: count, rounds: count }).optional(),
      records: count.optional(),
    })
    .optional(),
  evaluation: z.object({ total: count, done: count }).optional(),
  trainers: z.record(z.string(), z.object({ loss: z.number().optional(), records: count.optional() })),
});
export type Standing = z.infer<typeof standingSchema>;

const EVERY_MS = 300;

export interface WatchMasterOptions {
  readonly store: Store;
  readonly keys: Keys;
  readonly network: Network;
  readonly clock: Clock;
  readonly onStanding: (standing: Standing) => void;
}

export function watchMaster(options: WatchMasterOptions): Cancel {
  const { store, keys, network, clock, onStanding } = options;
  let channel: Channel | undefined;
  let cancelTimer: Cancel = () => {};
  let over = false;

  const moved = (address: string | undefined): void => {
    channel?.close();
    channel = address === undefined ? undefined : network.connect(address);
  };
  const cancelFollow = follow(
    store,
    keys.masterAddr,
    {
      onSnapshot: (entries) => moved(entries.find(({ key }) => key === keys.masterAddr)?.value),
      onEvents: (events) => {
        for (const event of events) moved(event.type === 'put' ? event.entry.value : undefined);
      },
      // The roles notice the same and end; so does the run.
      onEnd: () => moved(undefined),
    },
    clock,
  );
  const ask = async (): Promise<void> => {
    if (channel !== undefined) {
      const info = await askInfo(channel);
      if (over) return;
      const standing = standingSchema.safeParse(info);
      if (standing.success) onStanding(standing.data);
    }
    cancelTimer = clock.after(EVERY_MS, () => void ask());
  };
  cancelTimer = clock.after(EVERY_MS, () => void ask());
  return () => {
    over = true;
    cancelTimer();
    cancelFollow();
    channel?.close();
  };
}
