/** How help reads (CONTRIBUTING.md): summaries, descriptions, flags, arguments and examples of all commands. */
import { describe, expect, test } from 'vitest';
import { everyFlags } from '../../src/commands/base/flags.ts';
import { TOPICS } from '../../src/commands/help/topics.ts';
import { COMMANDS } from '../../src/commands/index.ts';
import { badWordsIn, HELP_WORDS } from '../tidy/words.ts';

const MAX_WORDS = 25;

const VERBS = [
  ...['Change', 'Check', 'Compare', 'Compute', 'Convert', 'Explain', 'Export', 'Generate', 'Hold', 'Index', 'Let'],
  ...['List', 'Pack', 'Print', 'Publish', 'Redistribute', 'Replace', 'Run', 'Save', 'Score', 'Serve', 'Show', 'Stop'],
  ...['Train', 'Write', 'Delete'],
];

/** Flags whose first sentence differs between commands, each with the reason. */
const OF_SEVERAL_MEANINGS: Readonly<Record<string, string>> = {
  'log-level': '`logs` shows the log of a job, and filters what it shows',
  timeout: 'what a command waits for differs',
  dir: '`doctor` checks a folder that has no job yet',
  output: 'a file, or a folder where there are several files',
  data: 'evaluate and predict score it, init trains on it; predict reads one file',
  from: 'a checkpoint of restore, a record of recordio cat',
  count: 'refreshes of top, records of recordio cat',
  index: 'a pserver claims it; checkpoint forget names a pserver by it',
  pservers: 'resize has the bounds of the job',
  trainers: 'resize has the bounds of the job',
};

interface Text {
  /** `predict --data`, `predict MODEL`, `predict, example 2`. */
  readonly place: string;
  readonly text: string;
}

const classes = await Promise.all(COMMANDS.map(async ({ id, load }) => ({ id, loaded: await load() })));

const topics = Object.entries(TOPICS).map(([name, topic]) => ({ id: `help:${name}`, loaded: { ...topic, args: {} } }));

const TEXTS: readonly Text[] = [...classes, ...topics].flatMap(({ id, loaded }) => {
  const command = id.replaceAll(':', ' ');
  const { summary = '', description = '', examples = [], flags, args } = loaded;
  const told = examples.map((one) => (typeof one === 'string' ? '' : one.description));
  const named = (
    facts: Readonly<Record<string, { readonly description?: string }>>,
    nameOf: (name: string) => string,
  ) =>
    Object.entries(facts).map(([name, fact]) => ({
      place: `${command} ${nameOf(name)}`,
      text: fact.description ?? '',
    }));
  return [
    { place: `${command}, summary`, text: summary },
    { place: `${command}, description`, text: description },
    ...told.map((text, at) => ({ place: `${command}, example ${at + 1}`, text })),
    ...named({ ...everyFlags, ...flags }, (name) => `--${name}`),
    ...named(args, (name) => name.toUpperCase()),
  ];
});

const sentencesOf = (text: string): string[] => text.split(/(?<=[.?!])\s+(?=["-]*[\p{L}\d])/u);
const firstOf = (text: string): string => sentencesOf(text)[0] ?? '';
const wordsIn = (sentence: string): number => sentence.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length;

const wordsToReplace = ({ place, text }: Text): string[] =>
  badWordsIn(text, HELP_WORDS).map((wrong) => `${place}: ${wrong}`);

const longSentences = ({ place, text }: Text): string[] =>
  sentencesOf(text)
    .filter((sentence) => wordsIn(sentence) > MAX_WORDS)
    .map((sentence) => `${place}: ${wordsIn(sentence)} words: ${sentence}`);

const hangs = ({ text }: Text): boolean => /^(?:Of|By|With|For) /.test(text);

describe('texts of help', () => {
  test('each ends with a period, except summaries', () => {
    const wrong = TEXTS.filter(({ place, text }) => /[.…]$/.test(text) === place.endsWith(', summary'));
    expect(wrong.map(({ place }) => place)).toEqual([]);
  });

  test('a summary begins with a verb in the imperative', () => {
    const first = TEXTS.filter(({ place }) => place.endsWith(', summary')).map(({ text }) => text.split(' ')[0]!);
    expect(first.filter((word) => !VERBS.includes(word))).toEqual([]);
  });

  test('no word that is to be replaced', () => {
    expect(TEXTS.flatMap(wordsToReplace)).toEqual([]);
  });

  test('no preposition that hangs at the beginning', () => {
    expect(TEXTS.filter(hangs)).toEqual([]);
  });

  test(`a sentence has at most ${MAX_WORDS} words`, () => {
    expect(TEXTS.flatMap(longSentences)).toEqual([]);
  });

  test('a flag means one thing: its first sentence is the same in every command', () => {
    const meanings = new Map<string, Set<string>>();
    for (const { place, text } of TEXTS) {
      const [name] = /(?<= --).*/.exec(place) ?? [];
      if (name !== undefined) meanings.set(name, (meanings.get(name) ?? new Set()).add(firstOf(text)));
    }
    const several = [...meanings].filter(([, texts]) => texts.size > 1);
    expect(several.filter(([name]) => !Object.hasOwn(OF_SEVERAL_MEANINGS, name))).toEqual([]);
    expect(Object.keys(OF_SEVERAL_MEANINGS).sort()).toEqual(several.map(([name]) => name).sort());
  });
});

describe('the checks themselves', () => {
  const at = (text: string): Text => ({ place: 'run --x', text });

  test('find words, prepositions and long sentences', () => {
    expect(wordsToReplace(at('End after so\nmany looks.'))).toHaveLength(2);
    expect(hangs(at('Of each chunk.'))).toBe(true);
    expect(hangs(at('Offset.'))).toBe(false);
    expect(longSentences(at(`${'a '.repeat(MAX_WORDS)}b. C.`))).toHaveLength(1);
    expect(longSentences(at(`${'a '.repeat(MAX_WORDS)}. ${'B '.repeat(MAX_WORDS)}`))).toEqual([]);
  });
});
