/**
 * What is known of the processes of a job whose store is a file, beside their keys and answers: all of them are on this
 * machine. Leases of such a store end only while a process watches it, so keys of dead processes stay.
 */
import { connect } from 'node:net';
import type { Clock } from '../base/seams.ts';
import { isFolderLocked, lastHolder } from '../host/folder-lock.ts';
import type { JobStatus, LiveProcess } from './describe-job.ts';

export type SeenHere =
  /** A `paddlet run` works in the job's folder. */
  | { readonly kind: 'run'; readonly pid: number | undefined }
  /** Processes are registered, and all of them are dead. */
  | { readonly kind: 'dead' };

/** A process that is suspended still has its port: the operating system accepts the connection. */
const CONNECTS_WITHIN_MS = 1_000;

/** `folder` of the job, if it is known. Undefined when the leases and answers say all. */
export async function seenHere(
  url: string,
  folder: string | undefined,
  status: JobStatus,
  clock: Clock,
): Promise<SeenHere | undefined> {
  const { health, processes } = status;
  if (!url.startsWith('sqlite:') || health.status !== 'UNKNOWN') return undefined;
  if (folder !== undefined && isFolderLocked(folder)) return { kind: 'run', pid: lastHolder(folder)?.pid };
  if (processes.length === 0) return undefined;
  const dead = await Promise.all(processes.map((process) => isDead(process, clock)));
  return dead.every(Boolean) ? { kind: 'dead' } : undefined;
}

const isDead = async ({ answer, address }: LiveProcess, clock: Clock): Promise<boolean> =>
  answer.kind === 'none' && (await isRefused(address, clock));

/** Whether no process listens there. */
function isRefused(address: string, clock: Clock): Promise<boolean> {
  const parsed = /^(.*):(\d+)$/.exec(address);
  if (parsed === null) return Promise.resolve(false);
  const [, host = '', port] = parsed;
  return new Promise((resolve) => {
    const socket = connect({ host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) });
    const cancelLimit = clock.after(CONNECTS_WITHIN_MS, () => answer(false));
    socket.once('connect', () => answer(false));
    socket.once('error', (error: NodeJS.ErrnoException) => answer(error.code === 'ECONNREFUSED'));
    const answer = (isDeaf: boolean): void => {
      cancelLimit();
      socket.destroy();
      resolve(isDeaf);
    };
  });
}
