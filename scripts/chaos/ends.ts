/** How a process may end, by what was done to it. */
import { EXIT } from '../../src/base/errors.ts';

export type RoleName = 'master' | 'pserver' | 'trainer';

/** What was done to a process, so that its end can be judged. */
export type Ask = 'kill' | 'die by itself' | 'term' | 'wait for room';

/**
 * docs/operations.md, "Exit codes": a master and a pserver end with 5 when their lease was lost, a trainer never does.
 * A pserver that was asked to leave waits for room for its checkpoint, but not for ever: then it ends with 7.
 */
export function isDocumented(
  role: RoleName,
  asked: ReadonlySet<Ask>,
  code: number | null,
  signal: NodeJS.Signals | null,
): boolean {
  if (signal === 'SIGKILL') return asked.has('kill') || asked.has('die by itself');
  if (code === EXIT.interrupted || signal === 'SIGTERM') return asked.has('term');
  if (code === EXIT.parametersLost) return role === 'pserver' && asked.has('term') && asked.has('wait for room');
  return code === EXIT.leaseLost && role !== 'trainer';
}
