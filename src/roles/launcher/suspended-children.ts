/**
 * Processes of a run that are suspended (SIGSTOP) and that the job waits for: they are named, and resumed when no user
 * does it.
 */
import type { Clock, Log } from '../../base/seams.ts';
import { createResumePolicy } from '../../core/resume-policy.ts';
import type { LiveProcess } from '../../view/describe-job.ts';
import type { JobNeeds, Waiting } from '../../view/health.ts';
import type { ChildSpec } from './supervised-child.ts';

/** A process that this one started, and that has not ended. */
export interface LiveChild extends Pick<ChildSpec, 'name' | 'role'> {
  readonly pid: number;
  isSuspended(): boolean;
  /** SIGCONT. */
  resume(): void;
}

export type SuspendedChildren = (
  children: readonly LiveChild[],
  processes: readonly Pick<LiveProcess, 'role' | 'id'>[],
  needs: Pick<JobNeeds, 'minTrainers'>,
) => Waiting[];

export function createSuspendedChildren(clock: Clock, log: Log, leaseTtlMs: number): SuspendedChildren {
  const policy = createResumePolicy(leaseTtlMs);
  return (children, processes, { minTrainers }) => {
    const isMissed = ({ role, name }: LiveChild): boolean => {
      const registered = processes.filter((process) => process.role === role);
      if (role === 'trainer') return registered.length < minTrainers;
      return !registered.some(({ id }) => name === (role === 'master' ? id : `${role} ${id}`));
    };
    const held = children.filter((child) => isMissed(child) && child.isSuspended());
    const left = policy.left(
      held.map(({ pid }) => pid),
      clock.monotonicMs(),
    );
    return held.map((child, at) => {
      const { name, role, pid } = child;
      const withinMs = left[at]!;
      if (withinMs === 0) {
        log.warn(
          `${name} (pid ${pid}) is suspended and its lease has ended: the job waits for it, so paddlet resumes it (SIGCONT)`,
        );
        child.resume();
      }
      const kind = role === 'master' ? role : (`${role}s` as const);
      const who = role === 'master' ? 'the master' : name;
      return { kind, text: `${who} (pid ${pid}), which is suspended, to be resumed by this run`, withinMs };
    });
  };
}
