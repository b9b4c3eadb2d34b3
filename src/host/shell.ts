/** Runs a command of the user through `sh -c`, in a separate process group that ends with this process. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Clock, Shell, ShellEnd } from '../base/seams.ts';

const TERM_GRACE_MS = 5_000;

/**
 * The command runs as `$1`. A guard reads from descriptor 3, whose other end this process holds: when it ends, however
 * it does, the guard kills the whole group, so that a command does not outlive the master that started it.
 */
const GUARDED = `( read -r _ <&3; kill -KILL 0 ) </dev/null >/dev/null 2>&1 &
guard=$!
exec 3<&-
sh -c "$1"
code=$?
kill "$guard" 2>/dev/null
exit "$code"`;

export function createShell(clock: Clock): Shell {
  return {
    async run(command, { env, folder, onLine, signal }) {
      if (signal.aborted) return { code: null, signal: 'SIGTERM' };
      const child = spawn('sh', ['-c', GUARDED, 'paddlet-hook', command], {
        cwd: folder,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
        detached: true,
      });
      // The guard's end may be gone before it reads.
      child.stdio[3]?.on('error', () => {});
      for (const from of ['stdout', 'stderr'] as const) {
        const lines = createInterface({ input: child[from]!, crlfDelay: Number.POSITIVE_INFINITY });
        lines.on('line', (line) => onLine(line, from));
      }
      let cancelKill = (): void => {};
      const stop = (): void => {
        endGroup(child.pid, 'SIGTERM');
        cancelKill = clock.after(TERM_GRACE_MS, () => endGroup(child.pid, 'SIGKILL'));
      };
      signal.addEventListener('abort', stop, { once: true });
      try {
        return await new Promise<ShellEnd>((resolve, reject) => {
          child.once('error', reject);
          child.once('close', (code, by) => resolve({ code, signal: by }));
          // What the command left running keeps the pipes open: its end is that of the command itself.
          child.once('exit', () => child.stdio[3]?.destroy());
        });
      } finally {
        signal.removeEventListener('abort', stop);
        cancelKill();
      }
    },
  };
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
