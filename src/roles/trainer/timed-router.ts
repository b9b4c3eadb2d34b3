/** The router of a trainer: the time that it takes the thread is counted as `route`. */
import type { IdRouter } from '../../tensor/id-router.ts';
import type { Activity } from './activity.ts';

export const timedRouter = (router: IdRouter, times: Activity['times']): IdRouter => ({
  dedupe: (...ids) => times.during('route', () => router.dedupe(...ids)),
  route: (...ids) => times.during('route', () => router.route(...ids)),
  tally: (...ids) => times.during('route', () => router.tally(...ids)),
});
