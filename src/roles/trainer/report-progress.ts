/** Reports periodically to the master what this trainer does. Each report is complete, so one may get lost. */
import type { Cancel } from '../../base/seams.ts';
import type { MasterClient } from '../../cluster/client/master-client.ts';
import type { RoleContext } from '../../cluster/context.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { Activity } from './activity.ts';

const REPORT_INTERVAL_MS = 500;

export interface ReportOptions {
  readonly record: JobRecord;
  readonly id: string;
  readonly master: MasterClient;
  readonly activity: Activity;
}

export interface ProgressReports {
  /** Sends one now, without waiting for it. */
  send(): void;
  readonly cancel: Cancel;
}

export function reportProgress(context: RoleContext, options: ReportOptions): ProgressReports {
  const { record, id, master, activity } = options;
  let cancelled = false;
  let cancelTimer: Cancel = () => {};
  const report = async (): Promise<void> => {
    const { executing, phase, records, loss } = activity.report();
    const answer = await master.tell({
      header: {
        type: 'progress',
        job: record.id,
        batchPlanId: record.batchPlanId,
        trainer: id,
        phase,
        records,
        ...(executing === undefined ? {} : { executing }),
        ...(loss === undefined || !Number.isFinite(loss) ? {} : { loss }),
      },
    });
    if (answer?.live === false && executing !== undefined) activity.notLive(executing);
  };
  const later = (): void => {
    if (!cancelled) cancelTimer = context.host.clock.after(REPORT_INTERVAL_MS, () => void report().then(later));
  };
  later();
  return {
    send: () => void report(),
    cancel: () => {
      cancelled = true;
      cancelTimer();
    },
  };
}
