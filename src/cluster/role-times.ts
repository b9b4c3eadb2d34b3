/** What the time of a role is divided into. docs/operations.md says what each of them is. */
import { PHASES } from '../protocol/messages/all-messages.ts';

/**
 * The phases of the loop that trains, and work of the thread that interrupts them. First that in which a process
 * begins.
 */
export const TRAINER_TIMES = [
  'idle',
  ...PHASES.filter((phase): phase is Exclude<(typeof PHASES)[number], 'idle'> => phase !== 'idle'),
  'parse',
  'route',
] as const;
export type TrainerTime = (typeof TRAINER_TIMES)[number];

/** How the thread of a pserver spends its time. `other`: everything else. */
export const PSERVER_TIMES = ['other', 'pull', 'push', 'copies', 'moves', 'save'] as const;
export type PserverTime = (typeof PSERVER_TIMES)[number];
/** `idle`: it has nothing to do. */
export const PSERVER_SHARES = [...PSERVER_TIMES, 'idle'] as const;
export type PserverShare = (typeof PSERVER_SHARES)[number];
