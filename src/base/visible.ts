/**
 * Text from outside (an id, an address, a peer's error, a line of data) as people see it: it can neither move the
 * cursor, nor paint, nor start a new line.
 */

/** Control characters, and the format characters that change the order in which a line is read. */
const CONTROLS = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;
/** A text between styles (chalk): bold, dim, and colors, also several. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const STYLED = /((?:\u001b\[(?:1|2|3[1-6])m)+[^\u001b\n]*(?:\u001b\[(?:22|39)m)+)/u;

/** Styled texts of this program: fixed words, so that there are few. */
const own = new Set<string>();

/**
 * Registers a fixed word that this program has styled, so that `visibleStyled` lets it through. The word must not come
 * from outside: `visibleStyled` would let the same styles through wherever they come from.
 */
export function ownStyled(styled: string): string {
  own.add(styled);
  return styled;
}

const shown = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** One line. */
export const visible = (text: string): string => text.replace(CONTROLS, shown);

/** Lines that we made, parts of which may come from outside. */
export const visibleLines = (text: string): string =>
  text.replace(CONTROLS, (character) => (character === '\n' || character === '\t' ? character : shown(character)));

/** Lines that we made and styled. Of styles, nothing but what `ownStyled` has registered gets through. */
export const visibleStyled = (text: string): string =>
  text
    .split(STYLED)
    .map((part) => (own.has(part) ? part : visibleLines(part)))
    .join('');
