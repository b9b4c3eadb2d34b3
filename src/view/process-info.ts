/** What every role says of its process. */
import type { LoggedError } from '../base/seams.ts';
import type { RoleContext } from '../cluster/context.ts';
import { type Trouble, troublesOf } from '../cluster/troubles.ts';

export interface ProcessInfo {
  readonly pid: number;
  readonly host: string;
  readonly version: string;
  readonly troubles: Trouble[];
  readonly errors: LoggedError[];
}

export const processInfo = (context: RoleContext): ProcessInfo => {
  const { pid, hostName: host, version } = context;
  return { pid, host, version, troubles: troublesOf(context), errors: [...(context.recentErrors?.() ?? [])] };
};
