/** The rounds of a job in sync mode, for people. */

import { shortId } from '../../cluster/trainer-entry.ts';
import type { DirectingInfo } from '../../view/info.ts';
import type { Cause } from '../../view/why/cause.ts';

/** A round that takes longer is reported. */
const SLOW_MS = 1_000;

type SyncInfo = Pick<Extract<DirectingInfo, { mode: 'sync' }>, 'rounds' | 'passes' | 'waitReason'>;

/** `why`: causes that are shown beside these lines. The lines do not repeat them. */
export function roundsText({ rounds, passes, waitReason }: SyncInfo, why: readonly Cause[]): string[] {
  const { round, pass, ofPass, total, cut, timeline, cutting, helped } = rounds;
  const lines: string[] = [];
  if (round !== undefined && pass !== undefined) {
    const within = ofPass === undefined ? '' : `, ${ofPass.round} of ${ofPass.rounds} in the pass`;
    lines.push(`pass ${Math.min(pass + 1, passes)} of ${passes}, round ${round} of ${total}${within}`);
  }
  lines.push(...lanesText(rounds.lanes));
  if (helped > 0) lines.push(`late lanes that a second trainer was asked to compute as well: ${helped}`);
  if (cut !== undefined) {
    const last = cut.round === 0 ? 'none yet' : `round ${cut.round}, ${cut.files} files`;
    const setBack = timeline === undefined || timeline === 0 ? '' : `; timeline ${timeline}`;
    lines.push(`last cut: ${last}${cutting === undefined ? '' : `; round ${cutting} is being saved`}${setBack}`);
  }
  const isExplained = why.some(({ kind }) => kind === 'barrier');
  const slow = isExplained
    ? []
    : rounds.pservers.filter(({ waitedMs, missing }) => waitedMs > SLOW_MS && missing.length > 0);
  for (const { index, version, missing, waitedMs } of slow) {
    const seconds = (waitedMs / 1000).toFixed(1);
    lines.push(`pserver ${index}: round ${version} has waited ${seconds} s for lanes ${spans(missing)}`);
  }
  const isIdle = round === undefined || rounds.lanes.some((trainers) => trainers.length === 0);
  if (why.length === 0 && (isIdle || slow.length > 0)) lines.push(`waiting: ${waitReason}`);
  return lines;
}

/** One line for lanes with the same trainers. */
function lanesText(lanes: readonly (readonly string[])[]): string[] {
  const byOwner = new Map<string, number[]>();
  lanes.forEach((trainers, lane) => {
    const who = trainers.length === 0 ? 'no trainer' : `trainer ${trainers.map(shortId).join(' and ')}`;
    byOwner.set(who, [...(byOwner.get(who) ?? []), lane]);
  });
  return [...byOwner].map(([who, mine]) => `lanes ${spans(mine)}: ${who}`);
}

/** `0-3, 5` of ascending numbers. */
function spans(numbers: readonly number[]): string {
  const parts: { from: number; to: number }[] = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last !== undefined && number === last.to + 1) last.to = number;
    else parts.push({ from: number, to: number });
  }
  return parts.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(', ');
}
