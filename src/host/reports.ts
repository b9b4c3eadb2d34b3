/**
 * What a process tells the one that started it, beside its log: warnings, errors, and why it ended. It goes through a
 * pipe, so that it arrives even when the disk of the logs is full. Neither side ever waits for the other.
 */
import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import * as z from 'zod';
import type { Log } from '../base/seams.ts';
import { fileLines, type WriteLine } from './outputs.ts';

/** Set in a child that has the pipe. */
export const REPORTS = 'PADDLET_REPORTS';
export const REPORTS_DESCRIPTOR = 3;

const reportSchema = z.object({
  level: z.enum(['warn', 'error']),
  message: z.string(),
  /** Of the error that ended the process. */
  code: z.string().optional(),
  hint: z.string().optional(),
});
export type Report = z.infer<typeof reportSchema>;

let toLauncher: WriteLine | undefined;

/** Undefined in a process that was not started with `onReport`. */
export function reporter(): ((report: Report) => void) | undefined {
  if (process.env[REPORTS] === '1') {
    // Commands that this process starts do not have the pipe.
    delete process.env[REPORTS];
    if (fstatSync(REPORTS_DESCRIPTOR).isSocket()) toLauncher = openPipe();
  }
  const write = toLauncher;
  return write === undefined ? undefined : (report) => write(JSON.stringify(report));
}

/** The socket only makes the descriptor non-blocking: what a launcher that is stopped does not read is dropped. */
function openPipe(): WriteLine {
  const socket = new Socket({ fd: REPORTS_DESCRIPTOR, readable: false, writable: true });
  socket.on('error', () => {});
  socket.unref();
  return fileLines(REPORTS_DESCRIPTOR);
}

/** A log whose warnings and errors are reported too. */
export function reportingLog(log: Log): Log {
  const report = reporter();
  if (report === undefined) return log;
  return {
    ...log,
    warn(message, facts) {
      log.warn(message, facts);
      report({ level: 'warn', message });
    },
    error(message, facts) {
      log.error(message, facts);
      report({ level: 'error', message, ...(typeof facts?.hint === 'string' ? { hint: facts.hint } : {}) });
    },
  };
}

/** Passes over lines that are no reports. */
export function readReports(from: Readable, take: (report: Report) => void): void {
  from.on('error', () => {});
  createInterface({ input: from, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
    try {
      const { data } = reportSchema.safeParse(JSON.parse(line));
      if (data !== undefined) take(data);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  });
}
