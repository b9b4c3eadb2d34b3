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
  /** The queue of this service shows which tasks are done. */
  readonly training: TaskService;
  readonly stopSignal: AbortSignal;
}

export interface UnclosedTasks {
  /** Oldest pass first. */
  readonly tasks: readonly PassTask[];
  /** Passes from here on are still to be searched; undefined when none is left. */
  readonly nextPass: number | undefined;
}

/**
 * Tasks of that pass and later ones that are done in the queue and that some shard lacks. Stops after the pass in which
 * enough are found: all of a long job may not fit into memory.
 */
export async function findUnclosed(
  options: FindUnclosed,
  number: number,
  from: { readonly pass: number; readonly enough: number },
): Promise<UnclosedTasks> {
  const { record, group, training, stopSignal } = options;
  const { tasks } = record.train;
  return group.withPlacement(
    `recovery ${number}`,
    async (placement) => {
      const found: PassTask[] = [];
      const { pass: current } = training.queue.counts();
      const lowest = await lowestWatermark(options, placement.pservers, number);
      for (let pass = Math.max(from.pass, lowest); pass <= current; pass++) {
        if (found.length >= from.enough) return { tasks: found, nextPass: pass };
        const all = Array.from({ length: tasks }, (_, task) => task);
        const done = all.filter((task) => training.queue.isDone(pass, task));
        const answers = await allSettledOrThrow(placement.pservers.map((one) => askClosed(options, one, pass, number)));
        const ledgers = answers.flatMap(({ ledgers }) => ledgers);
        for (const task of done) if (ledgers.some((ledger) => !ledger.has(task))) found.push({ pass, task });
      }
      return { tasks: found, nextPass: undefined };
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
    throw new PaddletError('BadMessage', `pserver ${pserver.index}: its bitmap has the wrong size`);
  });
  return { watermark, ledgers: bitmaps };
}
