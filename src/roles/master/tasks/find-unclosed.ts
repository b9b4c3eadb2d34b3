/** Which tasks that are done a restored shard lacks, from the pservers' ledgers. */
import { PaddletError } from '../../../base/errors.ts';
import { allSettledOrThrow, type PserverGroup } from '../../../cluster/client/pserver-group.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { PlacedPserver } from '../../../cluster/placement/placement-view.ts';
import { type Bitmap, bitmapFromText } from '../../../core/bitmap.ts';
import type { PassTask } from '../../../core/tasks/address.ts';
import type { TaskService } from './service.ts';

export interface FindUnclosed {
  readonly record: JobRecord;
  readonly group: PserverGroup;
  /** Its queue says what is done. */
  readonly training: TaskService;
  readonly stopSignal: AbortSignal;
}

/** Tasks that are done in the queue and that some shard lacks, oldest pass first. */
export async function findUnclosed(options: FindUnclosed, number: number): Promise<PassTask[]> {
  const { record, group, training, stopSignal } = options;
  const { tasks } = record.train;
  return group.withPlacement(
    `recovery ${number}`,
    async (placement) => {
      const found: PassTask[] = [];
      const { pass: current } = training.queue.counts();
      for (let pass = await lowestWatermark(options, placement.pservers, number); pass <= current; pass++) {
        const all = Array.from({ length: tasks }, (_, task) => task);
        const done = all.filter((task) => training.queue.isDone(pass, task));
        const answers = await allSettledOrThrow(placement.pservers.map((one) => askClosed(options, one, pass, number)));
        const ledgers = answers.flatMap(({ ledgers }) => ledgers);
        for (const task of done) if (ledgers.some((ledger) => !ledger.has(task))) found.push({ pass, task });
      }
      return found;
    },
    stopSignal,
  );
}

async function lowestWatermark(options: FindUnclosed, pservers: readonly PlacedPserver[], number: number) {
  const answers = await allSettledOrThrow(pservers.map((one) => askClosed(options, one, 0, number)));
  return Math.min(...answers.map(({ watermark }) => watermark));
}

interface Closed {
  /** Passes below it are complete in every shard. */
  readonly watermark: number;
  /** Closed tasks of the pass by each ledger that lacks some. */
  readonly ledgers: readonly Bitmap[];
}

async function askClosed(
  { group, record }: FindUnclosed,
  pserver: PlacedPserver,
  pass: number,
  number: number,
): Promise<Closed> {
  if (pass >= record.job.training.passes) return { watermark: pass, ledgers: [] };
  const reply = await group.ask(pserver, 'closed', { pass });
  reply.free();
  const { recovery, watermark, ledgers } = reply.header;
  if (recovery < number) {
    throw new PaddletError('NotReady', `pserver ${pserver.index} has not seen recovery ${number} yet`);
  }
  const bitmaps = ledgers.map((text) => {
    const bitmap = bitmapFromText(text, record.train.tasks);
    if (bitmap !== undefined) return bitmap;
    throw new PaddletError('BadMessage', `pserver ${pserver.index}: a bitmap of another size`);
  });
  return { watermark, ledgers: bitmaps };
}
