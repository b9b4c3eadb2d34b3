/** What a trainer in sync mode tells the master of its lanes. */
import type { PaddletError } from '../../../base/errors.ts';
import type { Log } from '../../../base/seams.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import type { MasterClient } from '../../../cluster/client/master-client.ts';
import type { TimelineVersion } from '../../../cluster/client/round-barrier.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import { isDataFault } from '../../../core/tasks/failure.ts';
import { failureTexts } from '../failure-texts.ts';

export interface LaneReports {
  /** The lane could not be computed or delivered here. `at`: the round, as the version it is computed from. */
  failed(lane: number, at: TimelineVersion, error: PaddletError): Promise<void>;
  /** A pserver no longer has the version that missing lanes of the round are computed from. */
  stuck(at: TimelineVersion, signal: AbortSignal): Promise<void>;
  /** This trainer leaves: its lanes go to other trainers. Sent once; the master also sees the trainer's lease end. */
  returned(): Promise<void>;
}

export interface LaneReportsOptions {
  readonly record: JobRecord;
  /** The trainer's id. */
  readonly id: string;
  readonly master: MasterClient;
  readonly log: Log;
  readonly stopSignal: AbortSignal;
}

export function createLaneReports({ record, id, master, log, stopSignal }: LaneReportsOptions): LaneReports {
  const trainerFields = { ...jobFields(record), trainer: id };
  return {
    async failed(lane, { timeline, version: round }, error) {
      log.error(`lane ${lane} of round ${round} failed: ${error.code}: ${error.message}`);
      const header = {
        type: 'failLane' as const,
        ...trainerFields,
        timeline,
        round,
        lane,
        code: error.code,
        ...failureTexts(error),
        data: isDataFault(error.code),
      };
      (await master.request({ header }, { signal: stopSignal })).free();
    },
    async stuck({ timeline, version: round }, signal) {
      log.warn(`round ${round} is stuck: a pserver no longer has version ${round}, from which its lanes are computed`);
      const header = { type: 'roundStuck' as const, ...trainerFields, timeline, round };
      (await master.request({ header }, { signal })).free();
    },
    async returned() {
      await master.tell({ header: { type: 'returnLanes' as const, ...trainerFields } });
    },
  };
}
