/**
 * Hands all units of this pserver over to the others, while it serves: when the job wants fewer pservers, or when this
 * process alone is stopped. Its record says `draining` from then on, so that no pserver gives it a unit.
 */
import { pause } from '../../base/backoff.ts';
import { isPaddletError } from '../../base/errors.ts';
import { abortAfter } from '../../cluster/abort.ts';
import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import { abortOnChange } from '../../cluster/waiting.ts';
import { announce, type OwnedIndex } from './claim/owned-index.ts';
import { keepRecordCurrent } from './claim/record-sizes.ts';
import { leaveNothingBehind } from './files/leave-nothing.ts';
import type { ShardService } from './shard-service.ts';

export interface Leaver {
  readonly owned: OwnedIndex;
  readonly service: Pick<ShardService, 'unitBytes' | 'leave'>;
}

/** Before the others are asked again whether they can take the units. */
const AGAIN_MS = 2_000;

/**
 * For a pserver whose index the job does not want any more. It waits until the others can take everything. True when it
 * leads nothing; false when its index is wanted again, or `ending` aborts: then it has what it could not give away.
 */
export async function leaveUnwanted(
  { owned, service }: Leaver,
  view: Pick<PlacementView, 'changed' | 'desired'>,
  ending: AbortSignal,
): Promise<boolean> {
  const { clock, log } = owned.context.host;
  log.info(`the job wants ${view.desired()} pservers: handing over all units`);
  const wantedAgain = abortOnChange(view.changed, () => isWanted(owned, view), ending);
  const signal = AbortSignal.any([ending, wantedAgain.signal]);
  try {
    for (;;) {
      if (await handOver({ owned, service }, signal)) return true;
      if (!signal.aborted) {
        log.warn('no other pserver can take the remaining units: keeping them for now');
        await pause(clock, AGAIN_MS, signal);
      }
      if (!signal.aborted) continue;
      if (!ending.aborted) log.info(`the job wants ${view.desired()} pservers: this one stays`);
      return false;
    }
  } finally {
    wantedAgain.release();
  }
}

/**
 * To be called when it leads nothing any more. False when `ending` aborts before nothing of it is needed, or when its
 * index is wanted again. Throws `LeaseGone` when the index is another's by now.
 */
export async function leaveNothing(
  { owned, service }: { readonly owned: OwnedIndex; readonly service: Pick<ShardService, 'stopSaving'> },
  view: Pick<PlacementView, 'changed' | 'desired'>,
  folder: string,
  ending: AbortSignal,
): Promise<boolean> {
  await service.stopSaving();
  const wantedAgain = abortOnChange(view.changed, () => isWanted(owned, view), ending);
  const signal = AbortSignal.any([ending, wantedAgain.signal]);
  try {
    // The units may have gone sooner than the record could say it: the others would count on this pserver still.
    await announce(owned, 'draining', [], signal);
    return await leaveNothingBehind(owned, folder, signal);
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted')) throw error;
    return false;
  } finally {
    wantedAgain.release();
  }
}

export const isWanted = ({ index }: OwnedIndex, { desired }: Pick<PlacementView, 'desired'>): boolean =>
  index < (desired() ?? index + 1);

/** For a process that is stopped alone: false when the others have not taken everything within the limit. */
export async function leaveWithin({ owned, service }: Leaver, limitMs: number, ending: AbortSignal): Promise<boolean> {
  const { clock, log } = owned.context.host;
  log.info(`handing over all units, for at most ${limitMs / 1000} s`);
  const late = abortAfter(clock, limitMs);
  try {
    if (await handOver({ owned, service }, AbortSignal.any([ending, late.signal]))) return true;
    log.info(late.signal.aborted ? 'not all units were handed over in time' : 'no other pserver can take all units');
    return false;
  } finally {
    late.cancel();
  }
}

/** Throws `LeaseGone` when the index is another's by now. */
async function handOver({ owned, service }: Leaver, signal: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  // The first to end says how it ends; the other one is interrupted by that.
  const both = [service.leave(within), keepRecordCurrent(owned, service, 'draining', within)];
  try {
    return await Promise.race(both);
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted')) throw error;
    return false;
  } finally {
    over.abort();
    await Promise.allSettled(both);
  }
}
