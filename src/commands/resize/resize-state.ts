/** How far a job is on its way to other numbers of pservers and trainers. Pure: from the keys of the store. */

import { counted } from '../../base/counted.ts';
import { parseTrainersDesired } from '../../cluster/job/trainers-desired.ts';
import { parseDesired } from '../../cluster/placement/ps-desired.ts';
import { type PserverShare, type Spread, type SpreadJob, spreadOf } from '../../cluster/placement/spread.ts';
import { isStartedByRun } from '../../cluster/trainer-entry.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue } from '../../store/store.ts';
import type { SizesAsked } from '../base/size-bounds.ts';

export interface ResizeState {
  readonly spread: Spread;
  /** Live ones that count for a resize. */
  readonly trainers: number;
  /** What is still to happen, for people; empty when all is as it was asked for. */
  readonly waitingFor: readonly string[];
  /** Why paddlet stops waiting. */
  readonly over: 'ended' | 'stopped' | 'superseded' | undefined;
}

export type Entries = ReadonlyMap<string, KeyValue>;

/** What the state is worked out from. */
export const stateKeys = (keys: Keys): string[] => [
  keys.psDesired,
  keys.trainersDesired,
  keys.psPrefix,
  keys.pserversPrefix,
  keys.headsPrefix,
  keys.trainersPrefix,
  keys.masterLock,
  keys.result,
];

export type ResizedJob = Pick<SpreadJob, 'units' | 'copies'>;

export function resizeState(keys: Keys, job: ResizedJob, asked: SizesAsked, entries: Entries): ResizeState {
  const under = (prefix: string): KeyValue[] => [...entries.values()].filter(({ key }) => key.startsWith(prefix));
  const desired = parseDesired(entries.get(keys.psDesired)!);
  const found = { owners: under(keys.psPrefix), heads: under(keys.headsPrefix), records: under(keys.pserversPrefix) };
  const spread = spreadOf(keys, { ...job, desired }, found);
  const replicas = job.copies?.replicas ?? 1;
  const registered = under(keys.trainersPrefix);
  const trainers = countedTrainers(registered);
  const isRunning = entries.has(keys.masterLock) || spread.pservers.length > 0 || registered.length > 0;
  const key = entries.get(keys.trainersDesired);
  const wanted = { pservers: desired, trainers: key && parseTrainersDesired(key).trainers };
  const waitingFor = [
    ...(asked.pservers === undefined ? [] : pserversWaitedFor(spread, replicas)),
    ...(asked.trainers === undefined ? [] : trainersWaitedFor(asked.trainers, trainers)),
  ];
  return { spread, trainers, waitingFor, over: overOf(entries.has(keys.result), isRunning, asked, wanted) };
}

/** Under `paddlet run` those that it started, as it starts and stops no others; elsewhere all that are registered. */
function countedTrainers(registered: readonly KeyValue[]): number {
  const ofRun = registered.filter(({ value }) => isStartedByRun(value)).length;
  return ofRun === 0 ? registered.length : ofRun;
}

function overOf(
  hasEnded: boolean,
  isRunning: boolean,
  asked: SizesAsked,
  wanted: { readonly pservers: number; readonly trainers: number | undefined },
): ResizeState['over'] {
  if (hasEnded) return 'ended';
  const isOther = (ofAsked: number | undefined, now: number | undefined): boolean =>
    ofAsked !== undefined && now !== undefined && ofAsked !== now;
  if (isOther(asked.pservers, wanted.pservers) || isOther(asked.trainers, wanted.trainers)) return 'superseded';
  return isRunning ? undefined : 'stopped';
}

function pserversWaitedFor(spread: Spread, replicas: number): string[] {
  const { pservers, missing, orphans, toMove, isTold } = spread;
  const waits: string[] = [];
  if (missing.length > 0) waits.push(`pserver ${missing.join(', ')} to start`);
  const loading = indexes(pservers.filter((one) => !one.isLeaving && one.status !== 'up'));
  if (loading !== '') waits.push(`pserver ${loading} to take part`);
  if (orphans > 0) waits.push(`pservers to take ${counted(orphans, 'unit')}`);
  if (toMove > 0) waits.push(`${counted(toMove, 'unit')} to move`);
  else if (!isTold) waits.push('the sizes of all units');
  const lacking = lackingOf(spread, replicas);
  if (lacking > 0) waits.push(`${counted(lacking, 'unit')} to get copies`);
  const leaving = indexes(pservers.filter(({ isLeaving }) => isLeaving));
  if (leaving !== '') waits.push(`pserver ${leaving} to leave`);
  return waits;
}

/** Units that have fewer copies than the pservers that stay can have. */
function lackingOf({ pservers, lacking }: Spread, replicas: number): number {
  const staying = pservers.filter(({ isLeaving }) => !isLeaving).length;
  return lacking.filter(({ copies }) => copies < Math.min(replicas, staying)).length;
}

const indexes = (pservers: readonly PserverShare[]): string => pservers.map(({ index }) => index).join(', ');

function trainersWaitedFor(wanted: number, live: number): string[] {
  if (live === wanted) return [];
  return [`${counted(Math.abs(wanted - live), 'trainer')} to ${live < wanted ? 'start' : 'leave'}`];
}
