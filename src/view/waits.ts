/** Who waits for whom among the processes of a job, as they say it themselves and as the master sees it. Pure. */
import { directingInfo, type JobStatus } from './describe-job.ts';
import { isSilent } from './health.ts';
import { processName } from './process-name.ts';
import { seconds } from './why/cause.ts';

/** Both by `processName`. */
export interface Wait {
  readonly from: string;
  readonly to: string;
  readonly what: string;
}

/** Shorter waits are how a cluster works. */
const LEAST_MS = 1_000;

const pserverName = (index: number): string => processName({ role: 'pserver', id: String(index) });
const trainerName = (id: string): string => processName({ role: 'trainer', id });

/** Each pair once; only of processes that are registered. */
export function waitsOf(status: Pick<JobStatus, 'processes'>): Wait[] {
  const known = new Set(status.processes.map(processName));
  const pairs = new Map<string, Wait>();
  for (const wait of [...leases(status), ...answers(status), ...heldUpPulls(status), ...rounds(status)]) {
    if (known.has(wait.from) && known.has(wait.to)) pairs.set(`${wait.from}>${wait.to}`, wait);
  }
  return [...pairs.values()];
}

/** What a silent process has goes to others when its lease ends; the master sees to that. */
function leases({ processes }: Pick<JobStatus, 'processes'>): Wait[] {
  const others = processes.filter((one) => one.role !== 'master' && isSilent(one));
  return others.map((one) => ({ from: 'master', to: processName(one), what: 'its answer, or the end of its lease' }));
}

/** Trainers that pull or push. */
function answers({ processes }: Pick<JobStatus, 'processes'>): Wait[] {
  return processes.flatMap((process) => {
    const { answer } = process;
    if (answer.kind !== 'info' || answer.info.role !== 'trainer' || answer.info.state !== 'working') return [];
    const late = (answer.info.pserverAnswers ?? []).filter(({ waitedMs }) => waitedMs >= LEAST_MS);
    return late.map(({ index, waitedMs }) => {
      return { from: processName(process), to: pserverName(index), what: `an answer, ${seconds(waitedMs)}` };
    });
  });
}

/** Pulls that wait for the staleness bound: for the trainers that are furthest behind. */
function heldUpPulls({ processes }: Pick<JobStatus, 'processes'>): Wait[] {
  return processes.flatMap((process) => {
    const { answer } = process;
    if (answer.kind !== 'info' || answer.info.role !== 'pserver' || answer.info.state !== 'working') return [];
    if (answer.info.mode !== 'async') return [];
    const { heldUp } = answer.info.staleness;
    if (heldUp === undefined || heldUp.longestMs < LEAST_MS) return [];
    const what = `its push: ${heldUp.pulls} pulls wait for the staleness bound, ${seconds(heldUp.longestMs)}`;
    return heldUp.holders.map(({ trainer }) => ({ from: processName(process), to: trainerName(trainer), what }));
  });
}

/** Pservers whose round lacks a lane: for the trainer that is to compute it. */
function rounds(status: Pick<JobStatus, 'processes'>): Wait[] {
  const master = directingInfo(status);
  if (master?.mode !== 'sync') return [];
  const trainerOf = new Map(master.rounds.missing.map(({ lane, trainers }) => [lane, trainers[0]]));
  return master.rounds.pservers.flatMap(({ index, missing, waitedMs }) => {
    if (waitedMs < LEAST_MS) return [];
    return missing.flatMap((lane) => {
      const trainer = trainerOf.get(lane);
      if (trainer === undefined) return [];
      return {
        from: pserverName(index),
        to: trainerName(trainer),
        what: `lane ${lane} of its round, ${seconds(waitedMs)}`,
      };
    });
  });
}
