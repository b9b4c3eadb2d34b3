/** The outcome of a resize, for scripts and for people. */

import { counted } from '../../base/counted.ts';
import type { PserverShare } from '../../cluster/placement/spread.ts';
import type { MakeTable } from '../base/table.ts';
import type { Sizes } from './request-sizes.ts';
import type { ResizeState } from './resize-state.ts';

export interface Resized {
  readonly job: string;
  readonly before: Sizes;
  readonly wanted: Sizes;
  /** How the job is now; undefined when it was not waited for. */
  readonly state: ResizeState | undefined;
  readonly seconds: number;
}

/** Why the numbers are not reached, if they are not. */
type Outcome = 'settled' | 'requested' | 'ended' | 'stopped';

function outcomeOf({ state }: Resized): Outcome {
  if (state === undefined) return 'requested';
  return state.over === 'ended' || state.over === 'stopped' ? state.over : 'settled';
}

export function resizeJson(resized: Resized): object {
  const { job, before, wanted, state, seconds } = resized;
  const outcome = outcomeOf(resized);
  const base = { job, ...wanted, before, outcome, settled: outcome === 'settled', seconds };
  if (state === undefined) return base;
  const { units, toMove, orphans } = state.spread;
  return { ...base, units: { total: units, toMove, orphans }, processes: state.spread.pservers.map(shareJson) };
}

const shareJson = ({ index, status, isLeaving, units, bytes, labels }: PserverShare): object => {
  return { role: 'pserver', index, status, isLeaving, units, bytes, ...labels };
};

export function resizeText(resized: Resized, table: MakeTable): string {
  const { job, wanted, state, seconds } = resized;
  const numbers = `${counted(wanted.pservers, 'pserver')} and ${counted(wanted.trainers, 'trainer')}`;
  switch (outcomeOf(resized)) {
    case 'requested':
      return `job ${job}: asked for ${numbers}`;
    case 'ended':
      return `job ${job} has ended in the meantime`;
    case 'stopped':
      return `job ${job} is not running: it will start with ${numbers}`;
    case 'settled':
      return `job ${job} has ${numbers} (${seconds.toFixed(1)} s)\n\n${sharesTable(state!.spread.pservers, table)}`;
  }
}

/** Units and bytes of each pserver. */
function sharesTable(pservers: readonly PserverShare[], table: MakeTable): string {
  const right = { align: 'right' as const };
  return table(
    [{ head: 'pserver' }, { head: 'units', ...right }, { head: 'MB', ...right }],
    pservers.map(({ index, units, bytes }) => [index, units, (bytes / 1e6).toFixed(1)]),
  );
}
