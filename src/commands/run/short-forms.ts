/** Flags of `run` for the fields that are changed most often: each is a `--set` that is shorter to type. */
import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';

const FIELDS = { trainers: 'cluster.trainers', pservers: 'cluster.pservers', passes: 'training.passes' } as const;

type ShortForm = keyof typeof FIELDS;

const shortForm = (name: ShortForm, what: string) =>
  Flags.string({ helpValue: 'N', description: `Number of ${what}. The same as --set ${FIELDS[name]}=N.` });

export const shortFormFlags = {
  trainers: shortForm('trainers', 'trainers'),
  pservers: shortForm('pservers', 'pservers'),
  passes: shortForm('passes', 'passes over the training data'),
};

/** What `--set` and the short forms override. Throws `Usage` when both set a field. */
export function allSets(
  flags: { readonly set: readonly string[] } & { readonly [N in ShortForm]?: string | undefined },
): string[] {
  const names = (Object.keys(FIELDS) as ShortForm[]).filter((name) => flags[name] !== undefined);
  for (const name of names) {
    const both = flags.set.find((set) => isSetOf(set, FIELDS[name]));
    if (both === undefined) continue;
    throw new PaddletError('Usage', `--${name} ${flags[name]} and --set ${both} set the same field`, {
      hint: `leave out one of them: --${name} N is --set ${FIELDS[name]}=N`,
    });
  }
  return [...flags.set, ...names.map((name) => `${FIELDS[name]}=${flags[name]}`)];
}

/** Whether a `--set` is of the field itself, or of its whole section. */
const isSetOf = (set: string, field: string): boolean => `${field}.`.startsWith(`${set.split('=')[0]}.`);
