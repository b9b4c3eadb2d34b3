/** What the master tells of itself and of the job: for `status`, for the launcher's progress, for /metrics. */
import { Gauge } from 'prom-client';
import type { PassTotals } from '../../core/task-state.ts';
import type { Job } from '../../job/schema.ts';
import type { RoleContext } from '../context.ts';
import { type MasterState, waitReason } from './serve.ts';

export type JobPhase = 'starting' | 'training' | 'evaluating' | 'concluding';

export interface MasterInfo {
  waits(what: string): void;
  waitingFor(): string;
  enters(phase: JobPhase): void;
  passEnded(pass: number, totals: PassTotals): void;
  readonly describe: () => Record<string, unknown>;
}

export function createMasterInfo(context: RoleContext, job: Job, state: () => MasterState | undefined): MasterInfo {
  let waiting = 'the store';
  let phase: JobPhase = 'starting';
  const passes: { pass: number; records: number; loss: number }[] = [];
  registerMetrics(context, state);
  return {
    waits: (what) => {
      waiting = what;
    },
    waitingFor: () => waiting,
    enters: (next) => {
      phase = next;
    },
    passEnded: (pass, { sums }) => {
      const { records, loss } = sums.metrics;
      passes.push({ pass, records, loss: records === 0 ? 0 : loss / records });
    },
    describe: () => {
      const self = {
        role: 'master',
        pid: context.pid,
        host: context.hostName,
        version: context.version,
        job: job.name,
      };
      const now = state();
      if (now === undefined) return { ...self, waitingFor: waiting };
      return {
        ...self,
        phase: phase === 'starting' ? 'training' : phase,
        passes: job.training.passes,
        ended: passes,
        tasks: now.train.desk.queue.counts(),
        waiting: waitReason(now),
        recovery: {
          number: now.recovery(),
          reconciled: now.repairs.reconciled(),
          repairing: now.repairs.round()?.items.length ?? 0,
        },
        attempts: attemptsOf(context, now),
        discarded: now.train.desk.queue.discarded(),
        sums: sumsOf(now),
        records: now.record.train.records,
        ...(now.evaluate === undefined ? {} : { evaluation: now.evaluate.desk.queue.counts() }),
        trainers: Object.fromEntries(
          [...now.trainers.addresses].map(([id, address]) => [id, { address, ...now.trainers.reports.get(id) }]),
        ),
      };
    },
  };
}

/** Live attempts; `slow` marks those far older than tasks take. */
function attemptsOf(context: RoleContext, { train }: MasterState) {
  const at = context.host.clock.monotonicMs();
  const stragglerMs = train.desk.queue.stragglerMs();
  return train.desk.queue.attempts().map(({ since, ranMs, ...attempt }) => {
    const ageMs = Math.round(at - since);
    return { ...attempt, ranMs: Math.round(ranMs), ageMs, slow: stragglerMs !== undefined && ageMs > stragglerMs };
  });
}

function sumsOf(state: MasterState) {
  const { ended, current } = state.train.desk.queue.totals();
  const all = [...ended.map(({ sums }) => sums), current];
  return {
    read: all.reduce((sum, { read }) => sum + read, 0),
    good: all.reduce((sum, { good }) => sum + good, 0),
    bad: all.reduce((sum, { bad }) => sum + bad, 0),
    duplicate: all.reduce((sum, { duplicate }) => sum + duplicate, 0),
  };
}

function registerMetrics(context: RoleContext, state: () => MasterState | undefined): void {
  new Gauge({
    name: 'paddlet_master_tasks',
    help: 'Tasks of the current pass by queue',
    labelNames: ['queue'],
    registers: [context.registry],
    collect() {
      const counts = state()?.train.desk.queue.counts();
      if (counts === undefined) return;
      for (const queue of ['todo', 'pending', 'done', 'discarded'] as const) this.set({ queue }, counts[queue]);
    },
  });
  new Gauge({
    name: 'paddlet_master_pass',
    help: 'Number of the current pass, from 0',
    registers: [context.registry],
    collect() {
      const counts = state()?.train.desk.queue.counts();
      if (counts !== undefined) this.set(counts.pass);
    },
  });
  new Gauge({
    name: 'paddlet_master_trainers',
    help: 'Live trainers',
    registers: [context.registry],
    collect() {
      this.set(state()?.trainers.addresses.size ?? 0);
    },
  });
}
