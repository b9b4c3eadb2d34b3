/** Memory for payloads, and the rule that a landing is used until it is freed, exactly once. */
import { assert } from '../../base/assert.ts';
import type { Landing } from '../messages/channel.ts';

/** Wraps a landing so that `free()` reaches it once; later calls do nothing, and its memory cannot be used after it. */
export const freedOnce = (landing: Landing): Landing => new FreedOnce(landing);

class FreedOnce implements Landing {
  readonly byteLength: number;
  readonly fixed: boolean;
  readonly onMoved: Landing['onMoved'];
  readonly #landing: Landing;
  #freed = false;

  constructor(landing: Landing) {
    this.#landing = landing;
    this.byteLength = landing.byteLength;
    this.fixed = landing.fixed === true;
    if (landing.onMoved !== undefined) this.onMoved = (run) => landing.onMoved!(run);
  }

  bytes(): Uint8Array {
    assert(!this.#freed, 'a landing is not used after it was freed');
    return this.#landing.bytes();
  }

  arrived(byteLength: number): void {
    this.#landing.arrived?.(byteLength);
  }

  free(): void {
    if (this.#freed) return;
    this.#freed = true;
    this.#landing.free();
  }
}
