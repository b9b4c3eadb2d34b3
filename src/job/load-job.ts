/** From a path on the command line to a valid job. */
import { dirname, resolve } from 'node:path';
import { isPaddletError, PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { notLocal } from '../base/local-path.ts';
import type { Disk, DiskFile } from '../base/seams.ts';
import { complaintsOf, fieldNamesOf } from './complaints.ts';
import { brokenRules } from './rules.ts';
import { jobFileSchema, jobJsonSchema, type RequestedJob, resolveJob } from './schema.ts';
import { type Complaint, jobInvalid, parseSource, type SourceText } from './source-text.ts';

export interface LoadJobOptions {
  readonly path: string;
  /** `path.to.field=value`, applied in order. */
  readonly sets: readonly string[];
  /** Where relative data paths start; default: the job file's folder, of a pipe the current one. */
  readonly dataDir?: string | undefined;
  readonly disk: Disk;
}

export interface LoadedJob {
  readonly job: RequestedJob;
  /** Absolute. */
  readonly path: string;
  /** Absolute. */
  readonly dataDir: string;
  /** The text of a job that no other process can read at `path`, and no one again: it came from a pipe. */
  readonly piped: string | undefined;
}

/** What is there depends on the process. */
const PROCESS_FILES = /^\/(?:dev|proc)\//;

/** Throws `JobInvalid` with all errors of the file, each with its place, or `Usage` for a malformed override. */
export async function loadJob(options: LoadJobOptions): Promise<LoadedJob> {
  const path = resolve(options.path);
  if (options.path === '') {
    throw new PaddletError('Usage', 'the path of the job file is empty', {
      hint: 'give the path of a job file; a shell variable in the command may be unset',
    });
  }
  const text = await readText(options.disk, path, options.path);
  const job = parseJobFile(options.path, text, options.sets);
  const isPiped = PROCESS_FILES.test(path) || (await options.disk.inspect(path))?.kind === 'other';
  const dataDir = resolve(options.dataDir ?? (isPiped ? '.' : dirname(path)));
  return { job, path, dataDir, piped: isPiped ? text : undefined };
}

/** The same from text; `name` is what errors call it. */
export function parseJobFile(name: string, text: string, sets: readonly string[] = []): RequestedJob {
  const source = parseSource(name, text, sets);
  const parsed = jobFileSchema.safeParse(source.value);
  if (!parsed.success) {
    throw invalid(name, source, complaintsOf(parsed.error, fieldNamesOf(jobJsonSchema()), source.value));
  }
  const broken = brokenRules(parsed.data);
  if (broken.length > 0) throw invalid(name, source, broken);
  return resolveJob(parsed.data);
}

function invalid(name: string, source: SourceText, complaints: readonly Complaint[]): PaddletError {
  const errors = complaints.map(({ path, atKey, message }) => ({
    place: source.placeOf(path, atKey ?? false),
    field: path.join('.'),
    message,
  }));
  errors.sort((a, b) => (a.place.line ?? 0) - (b.place.line ?? 0) || (a.place.column ?? 0) - (b.place.column ?? 0));
  return jobInvalid(name, errors);
}

async function readText(disk: Disk, path: string, shown: string): Promise<string> {
  let file: DiskFile | undefined;
  try {
    file = await disk.open(path);
    // A pipe does not say how long it is.
    const bytes = new Uint8Array(LIMITS.jobFileBytes + 1);
    const length = await file.read(bytes, 0);
    if (length > LIMITS.jobFileBytes) {
      throw new PaddletError('JobInvalid', `${shown}: expected a job file of at most ${LIMITS.jobFileBytes} bytes`);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
  } catch (error) {
    throw isPaddletError(error) ? error : unreadable(shown, error);
  } finally {
    await file?.close();
  }
}

function unreadable(shown: string, error: unknown): unknown {
  if (error instanceof TypeError) return new PaddletError('JobInvalid', `${shown} is not UTF-8 text`, { cause: error });
  const code = (error as NodeJS.ErrnoException).code;
  const why = {
    ENOENT: 'no such file',
    EISDIR: 'is a folder',
    EACCES: 'permission denied',
    ENOTDIR: 'no such file',
  }[code ?? ''];
  if (why === undefined) return error;
  const whereTo = notLocal(shown) ?? 'write a job file with `paddlet init --data FILE`, or start from one in examples/';
  const hint = { ENOENT: whereTo, EISDIR: 'give the path of the job file in the folder' }[code ?? ''];
  return new PaddletError('JobInvalid', `job file ${shown}: ${why}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}
