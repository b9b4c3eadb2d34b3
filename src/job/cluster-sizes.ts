import type { Job } from './schema.ts';

/** The most pservers that the job may be restored to. */
export const maxPserversOf = ({ pservers, maxPservers }: Pick<Job['cluster'], 'pservers' | 'maxPservers'>): number =>
  maxPservers ?? pservers;
