import { Counter, Gauge, type Registry } from 'prom-client';
import { PHASES } from '../../protocol/messages/all-messages.ts';
import type { Activity } from './activity.ts';

/** The trainer's series on /metrics. */
export function registerTrainerMetrics(registry: Registry, activity: Activity): void {
  new Counter({
    name: 'paddlet_trainer_records_total',
    help: 'Records trained on by this process, including repeated ones',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(activity.report().records);
    },
  });
  new Gauge({
    name: 'paddlet_trainer_loss',
    help: 'Mean loss of the latest mini-batch',
    registers: [registry],
    collect() {
      const { loss } = activity.report();
      if (loss !== undefined) this.set(loss);
    },
  });
  new Counter({
    name: 'paddlet_trainer_phase_seconds_total',
    help: 'Time spent in each phase of training',
    labelNames: ['phase'],
    registers: [registry],
    collect() {
      this.reset();
      const spentMs = activity.spentMs();
      for (const phase of PHASES) this.inc({ phase }, spentMs[phase] / 1000);
    },
  });
}
