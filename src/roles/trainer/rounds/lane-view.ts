/** Which lanes this trainer computes, as the master says: asked again and again beside the work, across its restarts. */
import { isPaddletError } from '../../../base/errors.ts';
import type { Clock } from '../../../base/seams.ts';
import type { MasterClient } from '../../../cluster/client/master-client.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { createSignal, pauseOrAborted, type Signal } from '../../../cluster/waiting.ts';
import { SAVE_BUSY_MS } from '../model/model-saver.ts';

const LONG_POLL_MS = 20_000;
const REQUEST_TIMEOUT_MS = 10_000;

export interface LaneView {
  readonly changed: Signal;
  /** Ascending. Nothing before the master has answered. */
  mine(): readonly number[];
  /** All rounds are done. */
  isOver(): boolean;
  /** The trainers of a lane, its own first. */
  ownersOf(lane: number): readonly string[];
  /** Aborts when `mine` or `isOver` changes. */
  steady(): AbortSignal;
}

export interface LaneViewOptions {
  readonly record: JobRecord;
  readonly id: string;
  readonly clock: Clock;
  readonly master: MasterClient;
  /** The master wants the model to be saved. False: this trainer cannot see to it yet. */
  readonly onSaveWanted: () => boolean;
  readonly onEnd: (error: Error) => void;
  /** Ends it. */
  readonly over: AbortSignal;
}

export function followLanes(options: LaneViewOptions): LaneView {
  const { record, id, clock, master, over } = options;
  const changed = createSignal();
  let owners: readonly (readonly string[])[] = [];
  let mine: readonly number[] = [];
  let isOver = false;
  let steady = new AbortController();

  function saw(next: { done: boolean; owners: readonly (readonly string[])[] }): void {
    owners = next.owners;
    const lanes = owners.flatMap((trainers, lane) => (trainers.includes(id) ? [lane] : []));
    const isSame = next.done === isOver && lanes.length === mine.length && lanes.every((lane, i) => lane === mine[i]);
    if (isSame) return;
    mine = lanes;
    isOver = next.done;
    steady.abort();
    steady = new AbortController();
    changed.notify();
  }

  async function follow(): Promise<never> {
    for (let known = 0; ; ) {
      const header = {
        type: 'getLanes' as const,
        job: record.id,
        batchPlanId: record.batchPlanId,
        trainer: id,
        known,
        maxWaitMs: LONG_POLL_MS,
      };
      const reply = await master.request({ header }, { timeoutMs: LONG_POLL_MS + REQUEST_TIMEOUT_MS, signal: over });
      reply.free();
      const isSeenTo = reply.header.saveModel !== true || options.onSaveWanted();
      known = reply.header.number;
      saw(reply.header);
      // As long as nobody sees to it the master answers at once.
      if (!isSeenTo) await pauseOrAborted(clock, SAVE_BUSY_MS, over);
    }
  }
  follow().catch((error: unknown) => {
    if (isPaddletError(error, 'Interrupted') && over.aborted) return;
    options.onEnd(error instanceof Error ? error : new Error(String(error)));
  });

  return {
    changed,
    mine: () => mine,
    isOver: () => isOver,
    ownersOf: (lane) => owners[lane] ?? [],
    steady: () => steady.signal,
  };
}
