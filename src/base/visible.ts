/**
 * Text from outside (an id, an address, a peer's error, a line of data) as people see it: it can neither move the
 * cursor, nor paint, nor start a line of its own.
 */

/** Control characters, and the format characters that change the order in which a line is read. */
const CONTROLS = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;
/** The styles of our own texts (chalk): bold, dim, and colors. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const STYLES = /\u001b\[(?:1|2|22|3[1-6]|39)m/u;

const shown = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** One line. */
export const visible = (text: string): string => text.replace(CONTROLS, shown);

/** Lines that we made, parts of which may come from outside. */
export const visibleLines = (text: string): string =>
  text.replace(CONTROLS, (character) => (character === '\n' || character === '\t' ? character : shown(character)));

/** Lines that we made and painted. From outside, nothing but these styles gets through. */
export const visibleStyled = (text: string): string => {
  const parts = text.split(new RegExp(`(${STYLES.source})`, 'u'));
  return parts.map((part, i) => (i % 2 === 1 ? part : visibleLines(part))).join('');
};
