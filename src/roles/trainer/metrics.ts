import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Log } from '../../base/seams.ts';
import { TRAINER_TIMES } from '../../cluster/role-times.ts';
import type { Activity } from './activity.ts';
import { REQUEST_KINDS, type RequestKind, type RequestTimes } from './request-times.ts';

/** A request that takes longer is logged for debugging. */
const SLOW_MS = 200;

/** Seconds: from what a pserver on the same machine needs to what a restart of one costs. */
const REQUEST_BUCKETS = [0.0005, 0.001, 0.01, 0.1, 1, 10].flatMap((decade) =>
  decade < 0.001 ? [decade] : [1, 1.5, 2, 3, 5, 7].map((step) => Number((step * decade).toPrecision(2))),
);

/** The trainer's series on /metrics. */
export function registerTrainerMetrics(registry: Registry, activity: Activity, log: Pick<Log, 'debug'>): RequestTimes {
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
      const loss = activity.latestLoss();
      if (loss !== undefined) this.set(loss);
    },
  });
  new Counter({
    name: 'paddlet_trainer_bad_gradients_total',
    help: 'Gradients with NaN or infinite values',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(activity.badGradients());
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
      for (const phase of TRAINER_TIMES) this.inc({ phase }, spentMs[phase] / 1000);
    },
  });
  new Counter({
    name: 'paddlet_trainer_changeover_seconds_total',
    help: 'Time from the end of a task until the first batch of the next task is computed; also counted in the phases',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(activity.changeoverMs() / 1000);
    },
  });
  return requestTimes(registry, log);
}

function requestTimes(registry: Registry, log: Pick<Log, 'debug'>): RequestTimes {
  const seconds = new Histogram({
    name: 'paddlet_trainer_request_seconds',
    help: 'Time from a training request to the pservers until its final answer, repeats included',
    labelNames: ['kind'],
    buckets: REQUEST_BUCKETS,
    registers: [registry],
  });
  const longestMs = new Map<RequestKind, number>();
  new Gauge({
    name: 'paddlet_trainer_longest_request_seconds',
    help: 'The longest such request so far',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const kind of REQUEST_KINDS) {
        const ms = longestMs.get(kind);
        if (ms !== undefined) this.set({ kind }, ms / 1000);
      }
    },
  });
  return {
    answered(kind, tookMs) {
      seconds.observe({ kind }, tookMs / 1000);
      if (tookMs > (longestMs.get(kind) ?? 0)) longestMs.set(kind, tookMs);
      if (tookMs > SLOW_MS) log.debug(`a ${kind} took ${Math.round(tookMs)} ms`, { kind, tookMs: Math.round(tookMs) });
    },
  };
}
