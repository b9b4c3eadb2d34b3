/** Samples of output in the documents, and whether what is printed is as they say. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './source-files.ts';

export interface Block {
  /** '' of one that is no code: a sample, or a drawing. */
  readonly language: string;
  readonly text: string;
}

export const blocksOf = (document: string): Block[] =>
  [...document.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => {
    return { language: language!, text: text! };
  });

/** The block of a document that begins with these words. */
export function sampleIn(path: string, words: string): string {
  const found = blocksOf(readFileSync(join(ROOT, path), 'utf8')).filter(({ text }) => text.startsWith(words));
  if (found.length !== 1) throw new Error(`${path} has ${found.length} blocks that begin with '${words}'`);
  return found[0]!.text;
}

/** In a line of a sample: text that is left out, since lines of documents have 120 columns. */
const LEFT_OUT = '…';

interface Varying {
  readonly what: RegExp;
  /** Why two runs of the same commands differ in it. */
  readonly why: string;
  /** Of numbers: by how much at most. Without it: by anything of this form. */
  readonly by?: number;
}

/** What differs from run to run. Everything else of a sample is compared to the letter. */
const VARYING: readonly Varying[] = [
  { what: /(?<=passes at )[\d,]+(?= records\/s, )/g, why: 'the speed of the machine' },
  { what: /(?<=records\/s, )\d+\.\d(?= s after)/g, why: 'the speed of the machine' },
  { what: /(?<=discarded; )\d+(?= read, )/g, why: 'a second trainer may get a copy of a slow task' },
  { what: /(?<= read, )\d+(?= duplicate$)/g, why: 'a second trainer may get a copy of a slow task' },
  {
    what: /(?<= on )\d+(?= records {2}\(last pass)/g,
    why: 'a copy of a slow task counts what it trained itself',
    by: 2000,
  },
  { what: /(?<= (?:logloss|auc|accuracy|rmse) )\d\.\d{5}/g, why: 'async mode: gradients in any order', by: 0.01 },
  { what: /(?<= calibration )\d\.\d{3}/g, why: 'async mode: gradients in any order', by: 0.1 },
  { what: /(?<=^model {6})[\da-f]{64}$/g, why: 'async mode: gradients in any order' },
  { what: /(?<=^)\d\.\d{3}(?= ad=)/g, why: 'scores in async mode: gradients in any order', by: 0.05 },
  { what: /(?<= in )\d+\.\d(?= s \()/g, why: 'the speed of the machine' },
  { what: /(?<=s \()[\d,]+(?= a second\)$)/g, why: 'the speed of the machine' },
  { what: /(?<=^u\d+,ad\d+,)0\.\d+$/g, why: 'scores in async mode: gradients in any order', by: 0.1 },
  { what: /(?<=^\d\.\d{3} ad=ad)\d+$/g, why: 'ads of nearly the same score change places' },
  { what: /(?<=^http:\/\/127\.0\.0\.1:)\d+(?=\/#view=)/g, why: 'a free port' },
  { what: /(?<=: )[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?= )/g, why: 'each file has an id of its own' },
  { what: /(?<=\()\d+(?= bytes\)$)/g, why: 'a file has the times and the ledgers of its run' },
];

/** What is printed, with the sample's text where two runs may differ, and where the sample leaves text out. */
export function asInSample(printed: string, sample: string): string {
  const lines = sample.split('\n');
  return printed
    .split('\n')
    .map((line, at) => lineAsIn(line, lines[at] ?? ''))
    .join('\n');
}

function lineAsIn(printed: string, sample: string): string {
  const line = VARYING.reduce((text, varying) => settled(text, sample, varying), printed);
  const [head = '', tail] = sample.split(LEFT_OUT);
  const isLeftOut = tail !== undefined && head + tail !== '' && line.length >= head.length + tail.length;
  return isLeftOut && line.startsWith(head) && line.endsWith(tail) ? sample : line;
}

function settled(printed: string, sample: string, { what, by }: Varying): string {
  const meant = sample.match(what) ?? [];
  let at = 0;
  return printed.replaceAll(what, (text) => {
    const other = meant[at++];
    if (other === undefined) return text;
    return by === undefined || Math.abs(Number(text) - Number(other)) <= by ? other : text;
  });
}
