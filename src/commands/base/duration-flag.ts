import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { parseDurationMs } from '../../job/duration.ts';

/** A flag such as `--timeout 60s`: checked, and kept as text for the help. `milliseconds` converts it. */
export const durationFlag = (initial: string, description: string) =>
  Flags.string({
    default: initial,
    helpValue: 'TIME',
    description,
    parse: async (text) => {
      milliseconds(text);
      return text;
    },
  });

export function milliseconds(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined) return ms;
  throw new PaddletError('Usage', `${text} is not a duration`, {
    hint: 'write a number with its unit, such as 500ms, 5s, 10m or 1h',
  });
}
