/** Refuses a model that no cluster of the job's size could train, before anything is started for it. */
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Job } from '../../job/schema.ts';
import { elementCount } from '../../tensor/blocks.ts';
import { checkParameterSpec } from '../../tensor/check-options.ts';
import type { ParameterSpec } from '../../tensor/spec.ts';

/** Fraction of the dense bytes to add: hashing spreads blocks unevenly, and rows of tables travel with them. */
const MARGIN = 0.1;
/** Dense parameters that one pserver may have. A trainer pulls and pushes them in one frame. */
const MOST_BYTES = LIMITS.frameBytes / (1 + MARGIN);
const FLOAT_BYTES = 4;

/** Throws `JobInvalid`. After any resize each pserver must have a frame for its dense blocks. */
export function checkModel({ model, cluster }: Pick<Job, 'model' | 'cluster'>, spec: ParameterSpec): void {
  const smaller =
    'hidden' in model ? ['lower model.hidden'] : 'layers' in model ? ['lower `units` in model.layers'] : [];
  try {
    checkParameterSpec(spec);
  } catch (cause) {
    if (!isPaddletError(cause, 'JobInvalid') || smaller.length === 0) throw cause;
    throw new PaddletError('JobInvalid', cause.message, { cause, hint: smaller.join() });
  }
  const sizes = spec.dense.map(({ name, shape }) => ({ name, shape, bytes: FLOAT_BYTES * elementCount({ shape }) }));
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  const { minPservers } = cluster;
  if (total <= MOST_BYTES * minPservers) return;
  const largest = sizes.reduce((a, b) => (b.bytes > a.bytes ? b : a));
  const least = Math.ceil(total / MOST_BYTES);
  const pservers = least > cluster.pservers ? 'cluster.pservers and cluster.minPservers' : 'cluster.minPservers';
  const more = least > LIMITS.pservers ? [] : [`set ${pservers} to ${least} or more`];
  throw new PaddletError(
    'JobInvalid',
    `the dense parameters take ${mebibytes(total)} in all (the largest is ${largest.name} of shape ` +
      `[${largest.shape.join(', ')}] with ${mebibytes(largest.bytes)}), but cluster.minPservers is ${minPservers}, ` +
      `and each pserver can hold at most ${mebibytes(MOST_BYTES)}`,
    { hint: [...smaller, ...more].join(', or ') },
  );
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
