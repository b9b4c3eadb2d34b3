/** Short keys of long texts. */
import { hashOfText } from './distinct.ts';

/** Longer texts are distinguished by their hash. */
const LONG = 256;
/** Characters of the texts whose keys it remembers: two of the longest that a record may have. */
const REMEMBERED_CHARACTERS = 2 ** 24;

/**
 * A dictionary gives the same long text to many records: each text is hashed once. To find a text that is the same
 * string in memory costs nothing, whatever its length.
 */
export class TextKeys {
  readonly #hashOf: (text: string) => number;
  readonly #keys = new Map<string, string>();
  #characters = 0;

  constructor(hashOf: (text: string) => number = hashOfText) {
    this.#hashOf = hashOf;
  }

  /** Characters of the texts that it remembers. */
  get characters(): number {
    return this.#characters;
  }

  keyOf(text: string): string {
    if (text.length <= LONG) return text;
    const known = this.#keys.get(text);
    if (known !== undefined) return known;
    const key = `${text.slice(0, LONG)}…${this.#hashOf(text)}`;
    if (this.#characters + text.length > REMEMBERED_CHARACTERS) {
      this.#keys.clear();
      this.#characters = 0;
    }
    this.#keys.set(text, key);
    this.#characters += text.length;
    return key;
  }
}
