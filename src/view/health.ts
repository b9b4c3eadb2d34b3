/**
 * How a job is, from what is seen now: the keys under leases, and the answers of their processes. Nothing that a dead
 * master wrote is believed. Pure.
 */

import { NOT_LISTENING } from '../cluster/trainer-entry.ts';
import type { TroubleKind } from '../cluster/troubles.ts';
import type { InfoAnswer } from './ask-info.ts';
import type { RoleInfo } from './info.ts';
import { nameInSentence } from './process-name.ts';

/** A process whose key exists. */
export interface SeenProcess {
  readonly role: RoleInfo['role'];
  /** Index of a pserver, id of a trainer. */
  readonly id: string;
  readonly answer: InfoAnswer;
  /** Where it is to be asked. */
  readonly address?: string;
  /** For how long it has not answered, if it was watched before. */
  readonly silentMs?: number;
}

export const isSilent = ({ answer, address }: SeenProcess): boolean =>
  answer.kind === 'none' && address !== NOT_LISTENING;

/** What is known of a process that did not answer, as a predicate. */
export const silenceText = ({ replacedBy }: Extract<InfoAnswer, { kind: 'none' }>): string =>
  replacedBy === undefined ? 'does not answer' : `has ended; ${replacedBy} has its address`;

const hasEnded = ({ answer }: SeenProcess): boolean => answer.kind === 'none' && answer.replacedBy !== undefined;

export interface Waiting {
  readonly kind: 'master' | 'pservers' | 'trainers' | 'copies' | 'lease' | TroubleKind;
  /** Follows "waiting for". */
  readonly text: string;
  /** Remaining time. A lease ends within this time, unless its owner lives and is only silent. */
  readonly withinMs?: number;
}

export interface JobHealth {
  /** `UNKNOWN`: no process answers. */
  readonly status: 'OK' | 'UNHEALTHY' | 'UNKNOWN';
  /** Empty when all is well. */
  readonly waitingFor: readonly Waiting[];
  /** Indexes of the pservers that answer. */
  readonly nodes: readonly number[];
}

export interface JobNeeds {
  readonly pservers: number;
  readonly minTrainers: number;
  readonly leaseTtlMs: number;
  /** Copies of units that the job asks for and lacks. Follows "waiting for"; undefined if none is missing. */
  readonly copies?: string | undefined;
}

export function healthOf(needs: JobNeeds, processes: readonly SeenProcess[]): JobHealth {
  const answering = processes.filter(({ answer }) => answer.kind !== 'none');
  const nodes = answering.filter(({ role }) => role === 'pserver').map(({ id }) => Number(id));
  if (answering.length === 0) {
    return { status: 'UNKNOWN', waitingFor: processes.length === 0 ? [] : leases(needs, processes), nodes };
  }
  const waitingFor = [
    ...troubles(answering),
    ...leases(needs, processes),
    ...master(processes),
    ...pservers(needs, processes),
    ...trainers(needs, processes),
    ...(needs.copies === undefined ? [] : [{ kind: 'copies' as const, text: needs.copies }]),
  ];
  return { status: waitingFor.length === 0 ? 'OK' : 'UNHEALTHY', waitingFor, nodes };
}

/** `3 s` after a text that ends with the time. */
export function waitingText({ text, withinMs }: Waiting): string {
  return withinMs === undefined ? text : `${text}, ${Math.ceil(withinMs / 1000)} s`;
}

/** Each text once, however many processes say it. */
function troubles(answering: readonly SeenProcess[]): Waiting[] {
  const all = new Map<string, Waiting>();
  for (const process of answering) {
    if (process.answer.kind !== 'info') continue;
    const { info } = process.answer;
    for (const trouble of info.troubles) {
      const { kind, text } = { ...trouble, ...(trouble.kind === 'pserver' && toldBy(process, trouble.text)) };
      all.set(text, { kind, text });
    }
    const isSuspended = info.role === 'pserver' && info.state === 'working' && !info.held;
    if (isSuspended && info.troubles.length === 0) {
      const text = `the store to renew the lease of ${nameInSentence(process)}`;
      all.set(text, { kind: 'store', text });
    }
  }
  return [...all.values()];
}

/** The network between two processes: other processes may reach that pserver. */
const toldBy = (process: SeenProcess, text: string): Pick<Waiting, 'text'> => ({
  text: `${text} (says ${nameInSentence(process)})`,
});

/** Waits for silent processes: dead, suspended, unreachable, or a trainer whose step blocks its thread. */
function leases({ leaseTtlMs }: JobNeeds, processes: readonly SeenProcess[]): Waiting[] {
  return processes.filter(isSilent).map((process) => ({
    kind: 'lease',
    text: hasEnded(process)
      ? `the lease of ${nameInSentence(process)} to expire`
      : `an answer of ${nameInSentence(process)}, or the end of its lease`,
    withinMs: Math.max(0, leaseTtlMs - (process.silentMs ?? 0)),
  }));
}

function master(processes: readonly SeenProcess[]): Waiting[] {
  const found = processes.find(({ role }) => role === 'master');
  if (found === undefined) return [{ kind: 'master', text: 'a master (none is registered)' }];
  const waits = waitsFor(found);
  return waits === undefined ? [] : [{ kind: 'master', text: `the master, which waits for ${waits}` }];
}

function pservers({ pservers: wanted }: JobNeeds, processes: readonly SeenProcess[]): Waiting[] {
  const live = processes.filter(({ role }) => role === 'pserver');
  const all: Waiting[] = [];
  const known = new Set(live.map(({ id }) => Number(id)));
  const missing = Array.from({ length: wanted }, (_, index) => index).filter((index) => !known.has(index));
  if (missing.length > 0) {
    // One that is to leave may still be there.
    const running = wanted - missing.length;
    all.push({ kind: 'pservers', text: `pserver ${missing.join(', ')} (${running} of ${wanted} are running)` });
  }
  for (const process of live) {
    const waits = waitsFor(process);
    if (waits !== undefined)
      all.push({ kind: 'pservers', text: `${nameInSentence(process)}, which waits for ${waits}` });
  }
  return all;
}

function trainers({ minTrainers }: JobNeeds, processes: readonly SeenProcess[]): Waiting[] {
  const live = processes.filter((process) => process.role === 'trainer' && !hasEnded(process)).length;
  return live >= minTrainers ? [] : [{ kind: 'trainers', text: `trainers: ${live} of ${minTrainers}` }];
}

const waitsFor = ({ answer }: SeenProcess): string | undefined =>
  answer.kind === 'info' && answer.info.state === 'waiting' ? answer.info.waitingFor : undefined;
