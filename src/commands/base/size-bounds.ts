/** The numbers of pservers and trainers that a job may have. */
import { PaddletError } from '../../base/errors.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { UNITS_A_PSERVER } from '../../core/units/units.ts';
import type { Job } from '../../job/schema.ts';

/** What is undefined stays as it is. */
export interface SizesAsked {
  readonly pservers: number | undefined;
  readonly trainers: number | undefined;
}

/** `published`: the job with the numbers of its start. Throws `Usage`, and says what to do about it. */
export function checkBounds(published: Pick<JobRecord, 'job' | 'units'>, { pservers, trainers }: SizesAsked): void {
  const { cluster } = published.job;
  const { minPservers, minTrainers, maxTrainers } = cluster;
  const max = maxPserversOf(cluster, published.units);
  checkNumber('--pservers', pservers, { min: minPservers, max, of: 'Pservers' });
  checkNumber('--trainers', trainers, { min: minTrainers, max: maxTrainers, of: 'Trainers' });
}

/** With fewer units for each, the pservers could not be evened out. */
const maxPserversOf = ({ pservers, maxPservers }: Job['cluster'], units: number): number =>
  maxPservers ?? Math.max(pservers, Math.floor(units / UNITS_A_PSERVER));

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly of: 'Pservers' | 'Trainers';
}

function checkNumber(flag: string, number: number | undefined, { min, max, of }: Bounds): void {
  if (number === undefined || (number >= min && number <= max)) return;
  const [bound, value] = number < min ? ['min', min] : ['max', max];
  const field = `cluster.${bound}${of}`;
  throw new PaddletError('Usage', `${flag} ${number}: ${field} of the job is ${value}`, {
    hint:
      `choose ${min} to ${max}; to change ${field}, start the job over (\`paddlet run --fresh\`), ` +
      'or start a new job with the parameters of this one (warmStart)',
  });
}
