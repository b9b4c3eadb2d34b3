/** Lists of phrases that are not plain English, each with what to write instead. */

export interface Phrase {
  readonly phrase: string;
  readonly better: string;
  readonly pattern: RegExp;
}

/** Between two words: blanks, or a line break with the marker of a comment or list. */
const GAP = '(?:[ \\t]+|[ \\t]*\\n[ \\t]*(?:\\*|//|#)?[ \\t]*)';

/** `path` is that of the list, for its errors. */
export function parsePhrases(list: string, path: string): Phrase[] {
  return list
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [phrase, better] = line.split(' => ').map((part) => part.trim());
      if (phrase === undefined || better === undefined) throw new Error(`${path}: '${line}' is not 'phrase => better'`);
      return { phrase, better, pattern: new RegExp(`(?<!--)\\b${phrase.split(' ').join(GAP)}\\b`, 'gi') };
    });
}
