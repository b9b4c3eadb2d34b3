/** Who waits for whom, those who wait for the same together. Pure. */
import type { PageJob } from '../page-data.ts';
import { listText } from './format.ts';

export interface WaitGroup {
  readonly to: string;
  readonly what: string;
  readonly from: readonly string[];
}

export function waitGroups(waits: PageJob['waits']): WaitGroup[] {
  const groups = new Map<string, { to: string; what: string; from: string[] }>();
  for (const { from, to, what } of waits) {
    const key = `${to}\n${what}`;
    const group = groups.get(key) ?? { to, what, from: [] };
    if (!group.from.includes(from)) group.from.push(from);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.from.length - a.from.length);
}

export const waitText = ({ from, to, what }: WaitGroup): string =>
  `${listText(from)} ${from.length === 1 ? 'waits' : 'wait'} for ${to}: ${what}`;
