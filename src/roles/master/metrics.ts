/** The master's series on /metrics; those of sync mode are with its rounds. */
import type { Registry } from 'prom-client';
import { gauge, gauges } from '../../cluster/series.ts';
import type { MasterState } from './state.ts';

export interface PserverCounts {
  readonly wanted: number;
  readonly live: number;
}

export interface MasterMetricsSource {
  readonly state: () => MasterState | undefined;
  readonly isTraining: () => boolean;
  /** Undefined until this master directs the job. */
  readonly pservers: () => PserverCounts | undefined;
}

export function registerMasterMetrics(registry: Registry, { state, isTraining, pservers }: MasterMetricsSource): void {
  gauges(registry, 'paddlet_master_tasks', 'Tasks of the current pass by queue', 'queue', () => {
    const training = state()?.training;
    if (training?.mode !== 'async') return {};
    const { todo, pending, done, discarded } = training.service.queue.counts();
    return { todo, pending, done, discarded };
  });
  gauge(registry, 'paddlet_master_pass', 'Number of the current pass, from 0', () => state()?.training.pass());
  gauge(
    registry,
    'paddlet_master_quiet_seconds',
    'Time since a trainer reported more records, while this master directs the training and training is not halted',
    () => {
      const now = state();
      // Training waits for nothing when it is over, or has halted until the model is evaluated.
      if (now === undefined || !isTraining() || now.training.waitReason() === undefined) return 0;
      return now.trainers.quietMs() / 1000;
    },
  );
  gauges(
    registry,
    'paddlet_master_records',
    'Records that trainers reported over all passes, by outcome; a value of lost above 0 is a defect',
    'kind',
    () => {
      const training = state()?.training.describe();
      if (training?.mode !== 'async') return {};
      const { read, good, bad, duplicate } = training.sums;
      return { read, good, bad, duplicate, lost: training.lost };
    },
  );
  gauge(registry, 'paddlet_master_trainers', 'Live trainers', () => state()?.trainers.addresses.size ?? 0);
  gauges(registry, 'paddlet_master_pservers', 'Number of pservers wanted, and of pservers live', 'kind', () => ({
    ...pservers(),
  }));
}
