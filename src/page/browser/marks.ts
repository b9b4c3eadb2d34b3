/** What is to be noticed about a process. Each mark has a sign and a word of its own, beside its color. Pure. */
import type { PageProcess } from '../page-data.ts';

export type Mark = 'working' | 'waiting' | 'slow' | 'silent' | 'strange';

export const MARK_WORDS: Readonly<Record<Mark, string>> = {
  working: 'working',
  waiting: 'waiting',
  slow: 'slow',
  silent: 'silent',
  strange: 'not understood',
};

/** Where the activity does not tell of it by itself. */
export const hasWord = (mark: Mark): boolean => mark !== 'working' && mark !== 'waiting';

/** The worst first. */
const RANK: readonly Mark[] = ['silent', 'strange', 'slow', 'waiting', 'working'];

export function markOf({ state, slow }: Pick<PageProcess, 'state' | 'slow'>): Mark {
  return state !== 'silent' && state !== 'strange' && slow !== undefined ? 'slow' : state;
}

const trouble = (process: PageProcess): number => RANK.indexOf(markOf(process)) - (process.errors.length > 0 ? 0.5 : 0);

/** All processes as they are, or at most `most` of them: those with trouble before others, each kind in its order. */
export function mostTroubled(processes: readonly PageProcess[], most: number): readonly PageProcess[] {
  if (processes.length <= most) return processes;
  return [...processes].sort((a, b) => trouble(a) - trouble(b)).slice(0, most);
}

export const activityText = ({ state, activity }: Pick<PageProcess, 'state' | 'activity'>): string =>
  state === 'waiting' ? `waits for ${activity}` : activity;
