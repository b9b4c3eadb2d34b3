/** What holds a job up, in a sentence; and the words that those sentences share. Pure. */
import type { DirectingInfo } from '../info.ts';

/** In the order in which causes are shown: earlier causes are the reasons of later ones. */
export const CAUSE_KINDS = [
  /** The job has ended, was asked to stop, or no process of it is running. */
  'ended',
  'stopping',
  'stopped',
  /** No process can reach the store; one of them cannot; the lease of a pserver is not certainly held. */
  'store',
  'lease',
  'checkpointFolder',
  /** A process does not answer. */
  'pserver',
  'master',
  'trainer',
  /** Too few are running. */
  'pservers',
  'copies',
  'trainers',
  /** The master runs a command of the job. */
  'hook',
  /** A process waits for what it says. */
  'waiting',
  /** A trainer fails: the data, or what it computes. */
  'data',
  'network',
  'slowPserver',
  'staleness',
  'barrier',
  'slowTrainer',
  /** The master has no work to hand out. */
  'work',
] as const;
export type CauseKind = (typeof CAUSE_KINDS)[number];

export interface Cause {
  readonly kind: CauseKind;
  /** One sentence, with what is known of role, phase, task and records. */
  readonly sentence: string;
  /** What to do. */
  readonly hint?: string;
}

/** Text of an error within a sentence. */
export const oneLine = (text: string): string =>
  text
    .trim()
    .replace(/\.$/, '')
    .replace(/:\s*\n\s*/g, ': ')
    .replace(/\s*\n\s*/g, '; ');

/** The time in whole seconds. */
export const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

/** `0, 1 and 3`. */
export function listed(items: readonly (string | number)[]): string {
  const last = items.at(-1);
  return items.length < 2 ? `${last ?? ''}` : `${items.slice(0, -1).join(', ')} and ${last}`;
}

/** What the trainer has in work, as the master knows it: a task, or lanes that the round waits for. */
export function workOf(master: DirectingInfo | undefined, trainer: string): string | undefined {
  if (master === undefined) return undefined;
  if (master.mode === 'sync') {
    const lanes = master.rounds.missing.filter(({ trainers }) => trainers.includes(trainer));
    return lanes[0]?.what;
  }
  const held = master.attempts.filter((attempt) => attempt.trainer === trainer);
  const [first] = held.sort((a, b) => Number(b.executing) - Number(a.executing));
  if (first === undefined) return undefined;
  const { task, pass, where, position } = first;
  return `task ${task} of pass ${pass + 1} (${where}), at push ${position}`;
}
