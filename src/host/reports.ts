/**
 * What a process tells the one that started it, beside its log: warnings, errors, why it ended, and its leases. It goes
 * through a pipe that only these two have, one JSON object a line, so that it arrives even when the disk of the logs is
 * full. Neither side ever waits for the other.
 */
import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import * as z from 'zod';
import type { Log, ReportedLease } from '../base/seams.ts';
import { fileLines, type WriteLine } from './outputs.ts';

/** Set in a child that has the pipe. */
export const REPORTS = 'PADDLET_REPORTS';
export const REPORTS_DESCRIPTOR = 3;

const reportSchema = z.object({
  level: z.enum(['warn', 'error']),
  message: z.string(),
  /** Code of the error that ended the process. */
  code: z.string().optional(),
  hint: z.string().optional(),
});
export type Report = z.infer<typeof reportSchema>;

/** A `ReportedLease`. The id is a decimal: leases of etcd have 63 bits. */
const leaseReportSchema = z.object({
  lease: z.string().regex(/^[1-9]\d{0,18}$/),
  state: z.enum(['held', 'ended']),
  ttlMs: z.number().positive(),
});

let toParent: WriteLine | undefined;

/** Undefined in a process whose parent takes no reports. */
export function reporter(): ((report: Report) => void) | undefined {
  const write = reportLine();
  return write === undefined ? undefined : (report) => write(JSON.stringify(report));
}

/** Reports leases, as `reporter` reports log entries. */
export function leaseReporter(): ((told: ReportedLease) => void) | undefined {
  const write = reportLine();
  if (write === undefined) return undefined;
  return ({ leaseId, state, ttlMs }) => write(JSON.stringify({ lease: leaseId.toString(), state, ttlMs }));
}

function reportLine(): WriteLine | undefined {
  if (process.env[REPORTS] === '1') {
    // Commands that this process starts do not have the pipe.
    delete process.env[REPORTS];
    if (fstatSync(REPORTS_DESCRIPTOR).isSocket()) toParent = openPipe();
  }
  return toParent;
}

/** The socket only makes the descriptor non-blocking: what a launcher that is stopped does not read is dropped. */
function openPipe(): WriteLine {
  const socket = new Socket({ fd: REPORTS_DESCRIPTOR, readable: false, writable: true });
  socket.on('error', () => {});
  socket.unref();
  return fileLines(() => REPORTS_DESCRIPTOR);
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

interface TakesReports {
  readonly onReport: (report: Report) => void;
  readonly onLease: (told: ReportedLease) => void;
}

/** Skips lines that are not reports. */
export function readReports(from: Readable, takes: TakesReports): void {
  from.on('error', () => {});
  createInterface({ input: from, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
    try {
      takeReport(JSON.parse(line), takes);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  });
}

function takeReport(said: unknown, { onReport, onLease }: TakesReports): void {
  const { data: told } = leaseReportSchema.safeParse(said);
  if (told !== undefined) onLease({ leaseId: BigInt(told.lease), state: told.state, ttlMs: told.ttlMs });
  const { data: report } = reportSchema.safeParse(said);
  if (report !== undefined) onReport(report);
}
