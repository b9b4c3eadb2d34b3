/** Words that a user of paddlet is not to read, each with what to write instead. */
export interface Word {
  readonly better: string;
  readonly pattern: RegExp;
}

const TABLE: readonly (readonly [word: string, better: string])[] = [
  ['told of', 'reported, logged, shown'],
  ['is told', 'is reported'],
  ['is said', 'is reported'],
  ['hardly', 'probably not, rarely'],
  ['so many', 'the number of, up to'],
  ['any more', 'no longer'],
  ['all the same', 'anyway'],
  ['at one go', 'at once'],
  ['of (?:its|their|your|one.s) own', 'own, separate'],
  ['begun', 'started'],
  ['again and again', 'repeatedly'],
  ['(?:it|which|data|file|files|what) (?:lies|stands)', 'is'],
  ['goes on', 'continues'],
  ['go on', 'continue'],
  ['is gone', 'was removed, disconnected'],
  ['are gone', 'were removed, disconnected'],
  ['went away', 'disconnected'],
  ['goes away', 'disconnects'],
  ['has to be said', 'is required, must be set'],
  ['to and fro', 'back and forth'],
  ['at hand', 'current, available'],
  ['in turns?', 'alternately'],
  ['has no name', 'does not have a file name'],
  ['two looks|each look|one look', 'refresh'],
  ['some (?:\\d|\\$\\{)', 'about'],
  ['is no(?! longer)', 'is not a'],
  ['are no(?! longer)', 'are not'],
  ['is none', 'is not'],
  ['are none', 'are not'],
  ['is nothing for', 'cannot be shown on'],
  ['standard input', 'stdin'],
  ['standard output', 'stdout'],
  ['when it is whole', 'atomic write'],
  ['inflated', 'decompressed'],
];

/** In help, too: elsewhere they have other meanings. */
const HELP_TABLE: typeof TABLE = [
  ['looks?', 'refresh, inspect, read'],
  ['lies', 'is'],
  ['stands', 'is'],
];

const wordsOf = (table: typeof TABLE): readonly Word[] =>
  table.map(([word, better]) => ({
    better,
    pattern: new RegExp(`(?<!--)\\b(?:${word.replaceAll(' ', '\\s+')})(?!\\w)`, 'gi'),
  }));

const WORDS = wordsOf(TABLE);
export const HELP_WORDS: readonly Word[] = [...WORDS, ...wordsOf(HELP_TABLE)];

/** Documents that have been rewritten: they have none of these words, except in code. */
export const WORDED_PAGES: readonly string[] = [
  'README.md',
  'docs/data.md',
  'docs/columns.md',
  'docs/inspect-data.md',
  'docs/job-file.md',
  'docs/predict.md',
  'docs/tutorial.md',
  'docs/design.md',
  'docs/modes.md',
  'docs/unit.md',
  'docs/copies.md',
  'docs/data-files.md',
  'docs/ffm.md',
  'docs/group-metrics.md',
  'docs/hooks.md',
  'docs/staleness.md',
  'docs/warm-start.md',
];

/** What is wrong with a text: the word, and what to write. */
export const badWordsIn = (text: string, words = WORDS): string[] =>
  words.flatMap(({ pattern, better }) => [...text.matchAll(pattern)].map(([found]) => `'${found}': write ${better}`));
