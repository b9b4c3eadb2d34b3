/** What the master tells of itself and of the job: for `status`, for the launcher's progress. */
import type { Clock } from '../../base/seams.ts';
import type { RoleContext } from '../../cluster/context.ts';
import type { RequestedJob } from '../../job/schema.ts';
import type { DirectingInfo, HookInfo, MasterInfo, TrainingInfo } from '../../view/info.ts';
import { processInfo } from '../../view/process-info.ts';
import { type PserverCounts, registerMasterMetrics } from './metrics.ts';
import { type MasterState, waitReason } from './state.ts';
import type { EndedPass } from './training.ts';

export type JobPhase = 'starting' | 'training' | 'evaluating' | 'concluding';

export interface MasterInfoSource {
  waits(what: string): void;
  waitingFor(): string;
  enters(phase: JobPhase): void;
  /** Undefined: no hook runs from now on. */
  runsHook(hook: Pick<HookInfo, 'name' | 'command'> | undefined): void;
  passEnded(pass: Omit<EndedPass, 'facts'>): void;
  /** How many there are, by the store. */
  countsPservers(counts: () => PserverCounts | undefined): void;
  readonly describe: () => MasterInfo;
}

export function createMasterInfo(
  context: RoleContext,
  job: RequestedJob,
  state: () => MasterState | undefined,
): MasterInfoSource {
  let waiting = 'the store';
  let phase: JobPhase = 'starting';
  let hook: (Pick<HookInfo, 'name' | 'command'> & { readonly sinceMs: number }) | undefined;
  const passes: DirectingInfo['ended'][number][] = [];
  let recordsPerSecond: number | undefined;
  const { clock } = context.host;
  const rate = createRate(clock);
  let pservers: (() => PserverCounts | undefined) | undefined;
  const isTraining = (): boolean => phase === 'starting' || phase === 'training';
  registerMasterMetrics(context.registry, { state, isTraining, pservers: () => pservers?.() });
  return {
    waits: (what) => {
      waiting = what;
    },
    waitingFor: () => waiting,
    runsHook: (next) => {
      hook = next && { ...next, sinceMs: clock.monotonicMs() };
    },
    enters: (next) => {
      phase = next;
      const now = state();
      if (now !== undefined) rate(now.training.describe());
    },
    countsPservers: (counts) => {
      pservers = counts;
    },
    passEnded: ({ pass, records, loss }) => {
      passes.push({ pass, ...(records === undefined ? {} : { records }), ...(loss === undefined ? {} : { loss }) });
    },
    describe: () => {
      const self = {
        role: 'master' as const,
        ...processInfo(context),
        job: job.name,
        ...hookInfo(hook, clock.monotonicMs()),
      };
      const now = state();
      if (now === undefined) return { ...self, state: 'waiting', waitingFor: waiting };
      const training = now.training.describe();
      const kept = now.evaluations?.summary();
      if (isTraining()) recordsPerSecond = rate(training);
      return {
        ...self,
        state: 'working',
        phase: phase === 'starting' ? 'training' : phase,
        passes: job.training.passes,
        ended: passes,
        quietMs: Math.round(now.trainers.quietMs()),
        failures: now.failures.list(training.mode === 'sync' ? training.rounds.round : undefined),
        waitReason: waitReason(now),
        ...training,
        ...(recordsPerSecond === undefined ? {} : { recordsPerSecond }),
        records: now.record.train.records,
        ...(kept === undefined ? {} : { kept }),
        ...(now.evaluation === undefined ? {} : { evaluation: now.evaluation.service.queue.counts() }),
        trainers: Object.fromEntries(
          [...now.trainers.addresses].map(([id, address]) => [id, { address, ...now.trainers.reports.get(id) }]),
        ),
      };
    },
  };
}

function hookInfo(
  hook: (Pick<HookInfo, 'name' | 'command'> & { readonly sinceMs: number }) | undefined,
  nowMs: number,
): { readonly hook?: HookInfo } {
  if (hook === undefined) return {};
  const { name, command, sinceMs } = hook;
  return { hook: { name, command, forMs: Math.round(nowMs - sinceMs) } };
}

/** Records per second since the first call at which they were known, or since they went down. */
function createRate(clock: Clock): (training: TrainingInfo) => number | undefined {
  let first: { readonly records: number; readonly atMs: number } | undefined;
  return (training) => {
    const records = training.mode === 'async' ? training.sums.good : training.rounds.records;
    if (records === undefined) return undefined;
    const atMs = clock.monotonicMs();
    // They go down when a job in sync mode is set back.
    if (first === undefined || records < first.records) first = { records, atMs };
    return atMs === first.atMs ? undefined : Math.round((records - first.records) / ((atMs - first.atMs) / 1000));
  };
}
