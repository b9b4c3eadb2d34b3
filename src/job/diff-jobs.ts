import { canonicalJson } from '../base/canonical-json.ts';
import type { RequestedJob } from './schema.ts';

export interface JobDifference {
  /** Dotted, for example `training.passes`; as the job file calls it. */
  readonly field: string;
  /** JSON; undefined where the field is missing. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Every field in which two jobs differ, in the order of the fields. Lists are compared as a whole. */
export function diffJobs(before: RequestedJob, after: RequestedJob): JobDifference[] {
  const old = leaves(before);
  const now = leaves(after);
  const fields = new Set([...old.keys(), ...now.keys()]);
  return (
    [...fields]
      // The store has the settings of a column in another order.
      .filter((field) => canonicalJson(old.get(field)) !== canonicalJson(now.get(field)))
      .map((field) => ({ field, before: old.get(field), after: now.get(field) }))
  );
}

function leaves(value: object, prefix = ''): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const [name, inner] of Object.entries(value)) {
    const field = `${prefix}${prefix === 'data.' && name === 'dialect' ? 'csv' : name}`;
    if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) {
      for (const [path, leaf] of leaves(inner, `${field}.`)) found.set(path, leaf);
    } else if (inner !== undefined) {
      found.set(field, inner);
    }
  }
  return found;
}
