/** Opens a link as the desktop of this machine does. */
import { spawn } from 'node:child_process';
import type { Log } from '../../base/seams.ts';

/** `$BROWSER` as desktops have it: one program. */
export function openInBrowser(link: string, log: Log, env: NodeJS.ProcessEnv = process.env): void {
  const program = env.BROWSER || 'xdg-open';
  const failed = (why: string): void =>
    log.warn(`the browser was not opened: ${program} ${why}; open the link yourself`);
  const child = spawn(program, [link], { stdio: 'ignore', detached: true });
  child.on('error', (error: NodeJS.ErrnoException) => failed(error.code === 'ENOENT' ? 'is missing' : error.message));
  child.on('exit', (code) => {
    if (code !== null && code !== 0) failed(`ended with exit code ${code}`);
  });
  child.unref();
}
