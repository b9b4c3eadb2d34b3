/**
 * The lanes that the master assigns to this trainer: followed by long polls beside the training, across master
 * restarts.
 */
import { isPaddletError } from '../../../base/errors.ts';
import type { Clock } from '../../../base/seams.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import { LONG_POLL_MS, type MasterClient } from '../../../cluster/client/master-client.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { createSignal, pauseOrAborted, type Signal } from '../../../cluster/waiting.ts';
import { SAVE_BUSY_MS } from '../model/model-saver.ts';

export interface LaneAssignment {
  readonly changed: Signal;
  /** Ascending. Empty before the first answer of the master. */
  mine(): readonly number[];
  /** True when all rounds that may be computed are done. */
  isDone(): boolean;
  /** Rounds that may be computed; 0 before the first answer of the master. */
  until(): number;
  /** The trainers of a lane; the one it is dealt to comes first. */
  ownersOf(lane: number): readonly string[];
  /** Aborts when `mine`, `until` or `isDone` changes next. */
  changeSignal(): AbortSignal;
}

export interface LaneAssignmentOptions {
  readonly record: JobRecord;
  /** The trainer's id. */
  readonly id: string;
  readonly clock: Clock;
  readonly master: MasterClient;
  /** The master wants the model to be saved. Returns false when this trainer cannot save it yet. */
  readonly onSaveWanted: () => boolean;
  readonly onFatal: (error: Error) => void;
  /** Ends the polling. */
  readonly stopSignal: AbortSignal;
}

type Owners = readonly (readonly string[])[];

export function followLaneAssignment(options: LaneAssignmentOptions): LaneAssignment {
  const { record, id, clock, master, stopSignal } = options;
  const changed = createSignal();
  let owners: Owners = [];
  let mine: readonly number[] = [];
  let isDone = false;
  let until = 0;
  let change = new AbortController();

  function observe(next: { done: boolean; until: number; owners: Owners }): void {
    owners = next.owners;
    const lanes = owners.flatMap((trainers, lane) => (trainers.includes(id) ? [lane] : []));
    const isSame = lanes.length === mine.length && lanes.every((lane, i) => lane === mine[i]);
    if (isSame && next.done === isDone && next.until === until) return;
    until = next.until;
    mine = lanes;
    isDone = next.done;
    change.abort();
    change = new AbortController();
    changed.notify();
  }

  async function follow(): Promise<never> {
    for (let known = 0; ; ) {
      const header = {
        type: 'getLanes' as const,
        ...jobFields(record),
        trainer: id,
        known,
        maxWaitMs: LONG_POLL_MS,
      };
      const reply = await master.request({ header }, { signal: stopSignal });
      reply.free();
      const isAccepted = reply.header.saveModel !== true || options.onSaveWanted();
      known = reply.header.number;
      observe(reply.header);
      // While no trainer saves a wanted model, the master answers at once.
      if (!isAccepted) await pauseOrAborted(clock, SAVE_BUSY_MS, stopSignal);
    }
  }
  follow().catch((error: unknown) => {
    if (isPaddletError(error, 'Interrupted') && stopSignal.aborted) return;
    options.onFatal(error instanceof Error ? error : new Error(String(error)));
  });

  return {
    changed,
    mine: () => mine,
    isDone: () => isDone,
    until: () => until,
    ownersOf: (lane) => owners[lane] ?? [],
    changeSignal: () => change.signal,
  };
}
