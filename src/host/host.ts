/** The real outside world, which commands give to roles and tools. */
import { hostname } from 'node:os';
import type { Host, LogLevel } from '../base/seams.ts';
import { createClock } from './clock.ts';
import { createDisk } from './disk.ts';
import { createLog, type LogIdentity } from './log.ts';
import { ownLogFile } from './log-file.ts';
import { stderrLines } from './outputs.ts';
import { createRandom } from './random.ts';
import { createStorage } from './storage.ts';

export interface HostOptions {
  readonly logLevel: LogLevel;
  readonly logFormat: 'text' | 'json';
  readonly identity?: LogIdentity;
}

export const ownIdentity = (role: string): LogIdentity => ({ role, host: hostname(), pid: process.pid });

/** Logs to stderr, coloured only on a terminal, or to the file that the parent of this process has chosen. */
export function createHost(options: HostOptions): Host {
  const clock = createClock();
  const log = createLog({
    level: options.logLevel,
    format: options.logFormat,
    ...(options.identity === undefined ? {} : { identity: options.identity }),
    write: ownLogFile()?.write ?? stderrLines(),
    wallSeconds: () => clock.wallSeconds(),
    color: isColorWanted(process.stderr),
    isShort: process.stderr.isTTY === true,
  });
  const disk = createDisk();
  return { clock, random: createRandom(), disk, storage: createStorage(disk), log };
}

/** https://no-color.org: any non-empty NO_COLOR turns colors off. */
export function isColorWanted(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR, TERM } = process.env;
  return stream.isTTY === true && (NO_COLOR === undefined || NO_COLOR === '') && TERM !== 'dumb';
}
