import { UNITS_A_PSERVER } from '../core/units/units.ts';
import type { Job } from './schema.ts';

/**
 * The most pservers that the job may be resized or restored to. `cluster` is as it was published: `pservers` is the
 * number of the start. With fewer units for each, their sizes could not be evened out.
 */
export const maxPserversOf = (
  { pservers, maxPservers }: Pick<Job['cluster'], 'pservers' | 'maxPservers'>,
  units: number,
): number => maxPservers ?? Math.max(pservers, Math.floor(units / UNITS_A_PSERVER));
