import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';

/** A name that an operator gives to a machine or a place. */
export const labelFlag = (description: string) =>
  Flags.string({ helpValue: 'NAME', description, parse: async (text) => checkedLabel(text) });

export function checkedLabel(text: string): string {
  // Visible characters, so that a table of them can be read.
  if (/^[\p{L}\p{N}\p{P}\p{S}]+$/u.test(text) && text.length <= LIMITS.nameCharacters) return text;
  throw new PaddletError('Usage', `${JSON.stringify(text)} is not a label`, {
    hint: `use 1 to ${LIMITS.nameCharacters} visible characters without spaces`,
  });
}
