/** Kinds of fields that several sections of a job file have. */
import * as z from 'zod';
import { LIMITS } from '../base/limits.ts';
import { atHome, notLocal } from '../base/local-path.ts';
import { parseByteSize } from './byte-size.ts';
import { parseDurationMs } from './duration.ts';

export const HOUR_MS = 3_600_000;

export const countOf = (min: number, max: number) => z.int().min(min).max(max);
export const positive = () => z.number().positive();
export const notNegative = () => z.number().min(0);
/** [0, 1): the decay rates of momentum and Adam. */
export const rate = () => z.number().min(0).lt(1);

export const DURATION_EXPECTED = 'expected a duration with its unit, such as 500ms, 5s, 10m or 1h';
/** The fields that hold one, for a better message than "expected text". */
export const DURATION_FIELDS: ReadonlySet<string> = new Set([
  'cluster.leaseTtl',
  'tasks.timeout',
  'tasks.timeoutFloor',
  'checkpoint.interval',
  'checkpoint.delta.interval',
]);

/** Text such as `5s`, checked against the bounds; the resolved job has it in milliseconds. */
export function duration(minMs: number, maxMs: number) {
  return z.string().check((context) => {
    const ms = parseDurationMs(context.value);
    const wrong =
      ms === undefined
        ? DURATION_EXPECTED
        : ms < minMs || ms > maxMs
          ? `expected a duration from ${minMs}ms to ${maxMs}ms`
          : undefined;
    if (wrong !== undefined) context.issues.push({ code: 'custom', input: context.value, message: wrong });
  });
}

const BYTES_EXPECTED = 'expected a size with its unit, such as 800kB, 512MB or 2GiB, or a number of bytes';

/** A number of bytes, or text such as `512MB`; the resolved job has the number. */
export const byteSize = (min: number, max: number) =>
  z.union([z.int(), z.string()]).check((context) => {
    const { value } = context;
    const bytes = typeof value === 'number' ? value : parseByteSize(value);
    const wrong =
      bytes === undefined
        ? BYTES_EXPECTED
        : bytes < min || bytes > max
          ? `expected from ${min} to ${max} bytes, got ${bytes}`
          : undefined;
    if (wrong !== undefined) context.issues.push({ code: 'custom', input: value, message: wrong });
  });

export const path = z
  .string()
  .overwrite(atHome)
  .min(1)
  .max(LIMITS.jobPathCharacters)
  .refine((text) => !text.includes('\0'), 'expected a path without NUL characters');
/** Where something is written or taken from; the data files are looked for before such a path is refused. */
export const folder = path.refine((text) => notLocal(text) === undefined, {
  error: ({ input }) => `expected a folder of this machine, not ${input}: ${notLocal(String(input))}`,
});
export const paths = z.union([path, z.array(path).min(1).max(LIMITS.jobPaths)]);
