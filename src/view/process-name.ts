/** What people call a process. */

import { shortId } from '../cluster/trainer-entry.ts';
import type { RoleInfo } from './info.ts';

/** `id`: index of a pserver, id of a trainer. */
export interface NamedProcess {
  readonly role: RoleInfo['role'];
  readonly id: string;
}

/** `master`, `pserver 0`, `trainer 5a8f6e0e`. */
export const processName = ({ role, id }: NamedProcess): string =>
  role === 'master' ? role : `${role} ${role === 'trainer' ? shortId(id) : id}`;

/** Within a sentence: `the master`, `pserver 0`. */
export const nameInSentence = (process: NamedProcess): string =>
  process.role === 'master' ? 'the master' : processName(process);

/** At the beginning of a sentence: `The master`, `Pserver 0`. */
export function nameAtStart(process: NamedProcess): string {
  const name = nameInSentence(process);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}
