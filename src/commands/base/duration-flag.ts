import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { parseDurationMs } from '../../job/duration.ts';

/** A flag such as `--timeout 60s`, checked and kept as text so that help shows it so; `milliseconds` makes a number of it. */
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
  throw new PaddletError('Usage', `${text} is not a duration`, { hint: 'write it with its unit: 500ms, 5s, 10m, 1h' });
}
