/** Processes that hold a job up: dead, cut off from the store, too few, or waiting themselves. Pure. */
import { counted } from '../../base/counted.ts';
import type { TroubleKind } from '../../cluster/troubles.ts';
import { directingInfo, type JobStatus, type LiveProcess } from '../describe-job.ts';
import { isSilent } from '../health.ts';
import { nameAtStart, nameInSentence } from '../process-name.ts';
import { type Cause, listed, oneLine, seconds, workOf } from './cause.ts';

type Seen = Pick<JobStatus, 'record' | 'processes' | 'spread'>;

/** The store first, as a process that cannot reach it can do nothing else. */
export function storeCauses({ processes, record }: Seen): Cause[] {
  const told = processes.flatMap((process) => troublesOf(process, 'store').map((text) => ({ process, text })));
  const [first] = told;
  const causes: Cause[] = [];
  if (first !== undefined && told.length > 1) {
    causes.push({
      kind: 'store',
      sentence: `${whoText(told.map(({ process }) => process))} wait for ${first.text}.`,
      hint: 'check that the store is running and has free disk space, and that these processes can reach it',
    });
  }
  const ttl = seconds(record.job.cluster.leaseTtlMs);
  for (const process of processes) {
    const text = told.length === 1 && first?.process === process ? first.text : undefined;
    if (text === undefined && isHeld(process)) continue;
    const state = isHeld(process) ? 'its lease runs out' : 'it answers no requests until its lease is renewed';
    causes.push({
      kind: 'lease',
      sentence: `${nameAtStart(process)} waits for ${text ?? 'the store to renew its lease'}; ${state}.`,
      hint: `if the lease is not renewed within ${ttl}, it expires and the process ends`,
    });
  }
  return causes;
}

const MOST_NAMED = 3;

/** `The master, pserver 0 and 5 trainers`. */
function whoText(processes: readonly LiveProcess[]): string {
  const ofRole = (role: LiveProcess['role']): string[] => {
    const names = processes.filter((process) => process.role === role).map((process) => nameInSentence(process));
    return names.length > MOST_NAMED ? [counted(names.length, role)] : names;
  };
  const text = listed((['master', 'pserver', 'trainer'] as const).flatMap(ofRole));
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

export const diskCauses = ({ processes }: Seen): Cause[] =>
  processes.flatMap((process) =>
    troublesOf(process, 'checkpointFolder').map((text) => ({
      kind: 'checkpointFolder' as const,
      sentence: `${nameAtStart(process)} cannot write its checkpoints and waits for ${text}.`,
      hint: 'free space, or make the folder writable; the process tries again by itself',
    })),
  );

const ROLE_ORDER = ['pserver', 'master', 'trainer'] as const;

/** Processes of another version, or of another job. */
export const strangeCauses = ({ processes }: Seen): Cause[] =>
  processes.flatMap((process) =>
    process.answer.kind === 'notUnderstood'
      ? [{ kind: process.role, sentence: `${nameAtStart(process)} ${oneLine(process.answer.error.message)}.` }]
      : [],
  );

/** Those with a key under a lease that do not answer. */
export function silentCauses({ processes, record }: Seen): Cause[] {
  const master = directingInfo({ processes });
  const ttl = seconds(record.job.cluster.leaseTtlMs);
  return processes
    .filter(isSilent)
    .sort((a, b) => ROLE_ORDER.indexOf(a.role) - ROLE_ORDER.indexOf(b.role))
    .map((process) => {
      const work = process.role === 'trainer' ? workOf(master, process.id) : undefined;
      const has = work === undefined ? '' : `; it has ${work}`;
      const effect = EFFECTS[process.role];
      const { address, answer } = process;
      if (answer.kind === 'none' && answer.replacedBy !== undefined) {
        const sentence = `${nameAtStart(process)} has ended: ${answer.replacedBy} has its address ${address}${has}.`;
        return { kind: process.role, sentence, hint: `its lease expires within ${ttl}, and then ${effect}` };
      }
      return {
        kind: process.role,
        sentence: `${nameAtStart(process)} at ${address} does not answer: it is dead, stopped, cut off or busy${has}.`,
        hint: `if it is dead, its lease expires within ${ttl}, and then ${effect}; if it is only busy, raise cluster.leaseTtl`,
      };
    });
}

const EFFECTS = {
  pserver: 'another process takes its place',
  master: 'a standby or a newly started master takes over',
  trainer: 'other trainers get its work',
} as const;

/** Too few of a role, or too few copies. */
export function missingCauses({ processes, record, spread }: Seen): Cause[] {
  const { cluster } = record.job;
  const causes: Cause[] = [];
  if (spread.orphans > 0 && spread.missing.length > 0) {
    causes.push({
      kind: 'pservers',
      sentence: `${absentText({ spread, record })}: requests to ${counted(spread.orphans, 'unit')} wait.`,
      hint: 'start the missing pservers with `paddlet pserver`; under `paddlet run` they start automatically',
    });
  }
  if (!processes.some(({ role }) => role === 'master')) {
    causes.push({
      kind: 'master',
      sentence: 'No master is running: no work is handed out.',
      hint: 'start a master with `paddlet master JOB`; under `paddlet run` it starts automatically',
    });
  }
  causes.push(...copiesCauses({ record, spread }));
  // The number of trainers as the master counts them.
  const trainers = processes.filter((process) => process.role === 'trainer').length;
  if (trainers < cluster.minTrainers) {
    causes.push({
      kind: 'trainers',
      sentence:
        cluster.minTrainers === 1
          ? 'No trainer is running: nothing is trained.'
          : `${trainers} of ${cluster.minTrainers} trainers are running; the master hands out work when all are.`,
      hint: 'start more trainers, or lower cluster.minTrainers and start the job again',
    });
  }
  return causes;
}

/** The others have all units: a job that is being resized, or copies of a dead one that lead now. */
export const fewerCauses = ({ record, spread }: Seen): Cause[] =>
  spread.missing.length > 0 && spread.orphans === 0
    ? [{ kind: 'pservers', sentence: `${absentText({ spread, record })}; the others have all units.` }]
    : [];

function absentText({ spread: { missing }, record }: Pick<Seen, 'spread' | 'record'>): string {
  const { pservers } = record.job.cluster;
  const which = missing.length === 1 ? 'Pserver' : 'Pservers';
  const verb = missing.length === 1 ? 'is' : 'are';
  return `${which} ${listed(missing)} ${verb} not running (${pservers - missing.length} of ${pservers} are)`;
}

/** Units that nothing is applied to before they have more copies. */
function copiesCauses({ record, spread }: Pick<Seen, 'record' | 'spread'>): Cause[] {
  const { minInSync, replicas } = record.job.cluster;
  const blocked = spread.lacking.filter(({ copies }) => copies < minInSync);
  const [first] = blocked;
  if (first === undefined) return [];
  const has = `${counted(blocked.length, 'unit')} ${blocked.length === 1 ? 'has' : 'have'} fewer`;
  const example = `unit ${first.unit} has ${first.copies}`;
  return [
    {
      kind: 'copies',
      sentence: `Pushes wait for ${minInSync} copies in sync (cluster.minInSync), and ${has}: ${example} of ${replicas}.`,
      hint: 'start more pservers, or read in their logs why the copies are missing',
    },
  ];
}

/** Processes that have nothing to work on yet; the commands of the job have causes of their own kind. */
export const waitingCauses = ({ processes }: Seen): Cause[] =>
  processes.flatMap((process): Cause[] => {
    const { answer } = process;
    if (answer.kind !== 'info') return [];
    const { info } = answer;
    if (info.role === 'master' && info.hook !== undefined) {
      const { name, command, forMs } = info.hook;
      const then = info.state === 'waiting' ? 'training begins' : 'the job ends';
      return [
        {
          kind: 'hook',
          sentence: `The master runs ${name} of the job for ${seconds(forMs)}: ${oneLine(command)}.`,
          hint: `${then} when that command has ended`,
        },
      ];
    }
    if (info.state !== 'waiting') return [];
    return [{ kind: 'waiting', sentence: `${nameAtStart(process)} waits for ${oneLine(info.waitingFor)}.` }];
  });

/** A network that is cut between two processes. */
export const networkCauses = ({ processes }: Seen): Cause[] =>
  processes.flatMap((process) =>
    troublesOf(process, 'pserver').map((text) => ({
      kind: 'network' as const,
      sentence: `${nameAtStart(process)} waits for ${text}.`,
    })),
  );

const troublesOf = ({ answer }: LiveProcess, kind: TroubleKind): readonly string[] =>
  answer.kind === 'info'
    ? answer.info.troubles.filter((trouble) => trouble.kind === kind).map(({ text }) => oneLine(text))
    : [];

const isHeld = ({ answer }: LiveProcess): boolean =>
  !(answer.kind === 'info' && answer.info.role === 'pserver' && answer.info.state === 'working' && !answer.info.held);
