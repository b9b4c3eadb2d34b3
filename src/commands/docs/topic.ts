/** A document, or the part of one under a heading. */
import { PaddletError } from '../../base/errors.ts';
import { nearest } from '../../job/complaints.ts';

type Texts = Readonly<Record<string, string>>;

export const titleOf = (text: string): string => /^# (.*)$/m.exec(text)?.[1] ?? '';

/** `data`, `data.md`, `docs/data.md` or `operations#sync-mode`. Throws `Usage` for what is missing. */
export function topicText(texts: Texts, topic: string): string {
  const [named = '', anchor] = topic.split('#');
  const name = named.replace(/^docs\//, '').replace(/\.md$/, '');
  const text = Object.hasOwn(texts, name) ? texts[name] : undefined;
  if (text === undefined) throw unknown(`no such topic: ${name}`, name, Object.keys(texts), '');
  return anchor === undefined ? text : partUnder(text, name, anchor);
}

interface Heading {
  readonly line: number;
  readonly depth: number;
  readonly anchor: string;
}

function partUnder(text: string, name: string, anchor: string): string {
  const lines = text.split('\n');
  const headings = headingsOf(lines);
  const at = headings.findIndex((heading) => heading.anchor === anchor.toLowerCase());
  const found = headings[at];
  if (found === undefined) {
    const anchors = headings.map((heading) => heading.anchor);
    throw unknown(`${name} does not have a heading ${anchor}`, anchor, anchors, `${name}#`);
  }
  const next = headings.slice(at + 1).find(({ depth }) => depth <= found.depth);
  return lines.slice(found.line, next?.line).join('\n');
}

/** Headings with the anchors that GitHub makes; lines of code blocks are not headings. */
function headingsOf(lines: readonly string[]): Heading[] {
  let isCode = false;
  return lines.flatMap((text, line) => {
    if (text.startsWith('```')) isCode = !isCode;
    const [, marks, title] = (isCode ? undefined : /^(#+) (.*)$/.exec(text)) ?? [];
    if (marks === undefined || title === undefined) return [];
    const anchor = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    return [{ line, depth: marks.length, anchor }];
  });
}

function unknown(message: string, word: string, known: readonly string[], before: string): PaddletError {
  const near = nearest(word, known) ?? known.find((name) => name.includes(word.toLowerCase()));
  return new PaddletError('Usage', message, {
    hint: near === undefined ? '`paddlet docs` lists all topics' : `did you mean \`paddlet docs ${before}${near}\`?`,
  });
}
