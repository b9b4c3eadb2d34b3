import { LIMITS } from '../../base/limits.ts';

/** The text read last in some place: mostly the next one is the same, and need not be made again. */
export class LastText {
  readonly #bytes = new Uint8Array(LIMITS.nameCharacters);
  #length = 0;
  #text = '';

  /** The text at `at`, of at most LIMITS.nameCharacters bytes, if it is ASCII; undefined for other text. */
  read(bytes: Uint8Array, at: number, length: number): string | undefined {
    const last = this.#bytes;
    let same = 0;
    if (length === this.#length) while (same < length && last[same] === bytes[at + same]) same++;
    if (length > 0 && same === length) return this.#text;
    let all = 0;
    for (let i = 0; i < length; i++) all |= bytes[at + i]!;
    if (all >= 0x80) return undefined;
    for (let i = 0; i < length; i++) last[i] = bytes[at + i]!;
    this.#length = length;
    this.#text = Buffer.from(last.buffer, 0, length).toString('latin1');
    return this.#text;
  }
}
