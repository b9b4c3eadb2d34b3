/**
 * Hands over all units of this pserver, while it continues to serve. It does so when the job wants fewer pservers, or
 * when only this process is stopped. From then on its record contains `draining`, so that no pserver gives it a unit.
 */
import { pause } from '../../base/backoff.ts';
import { isPaddletError } from '../../base/errors.ts';
import { abortAfter } from '../../cluster/abort.ts';
import type { PlacementView } from '../../cluster/placement/placement-view.ts';
import { abortOnChange } from '../../cluster/waiting.ts';
import { announce, type OwnedIndex } from './claim/owned-index.ts';
import { keepRecordCurrent } from './claim/record-sizes.ts';
import { deleteOwnFiles } from './files/delete-own-files.ts';
import type { ShardService } from './shard-service.ts';

export interface Leaver {
  readonly owned: OwnedIndex;
  readonly service: Pick<ShardService, 'unitBytes' | 'leave'>;
}

/** Pause before the next attempt to hand over the remaining units. */
const RETRY_MS = 2_000;

/**
 * For a pserver whose index the job no longer wants. Waits until other pservers can take all units. Returns true once
 * this pserver leads no unit. Returns false if the job wants the index again, or `ending` aborts: then this pserver
 * keeps the remaining units. Throws `LeaseGone` if another process has the index by now.
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
        await pause(clock, RETRY_MS, signal);
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
 * The caller must lead no unit. Returns true once the files and keys of this pserver are deleted. Returns false if,
 * before that, `ending` aborts or the job wants the index again. Throws `LeaseGone` if another process has the index by
 * now.
 */
export async function leaveIndex(
  { owned, service }: { readonly owned: OwnedIndex; readonly service: Pick<ShardService, 'stopSaving'> },
  view: Pick<PlacementView, 'changed' | 'desired'>,
  folder: string,
  ending: AbortSignal,
): Promise<boolean> {
  await service.stopSaving();
  const wantedAgain = abortOnChange(view.changed, () => isWanted(owned, view), ending);
  const signal = AbortSignal.any([ending, wantedAgain.signal]);
  try {
    // The record may still list units that have left. Then other pservers would still count on this pserver.
    await announce(owned, 'draining', [], signal);
    return await deleteOwnFiles(owned, folder, signal);
  } catch (error) {
    if (!isPaddletError(error, 'Interrupted')) throw error;
    return false;
  } finally {
    wantedAgain.release();
  }
}

/** True also while the wanted number of pservers is unknown. */
export const isWanted = ({ index }: OwnedIndex, { desired }: Pick<PlacementView, 'desired'>): boolean =>
  index < (desired() ?? index + 1);

/**
 * For a process that is stopped alone. Returns true once this pserver leads no unit. Returns false if the limit is
 * over, `ending` aborts, or no other pserver can take the units. Throws `LeaseGone` if another process has the index by
 * now.
 */
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

/** Returns whether this pserver leads no unit now. Throws `LeaseGone` if another process has the index by now. */
async function handOver({ owned, service }: Leaver, signal: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  // The first of the two to end decides the result, and then interrupts the other one.
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
