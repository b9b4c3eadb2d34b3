/** Holds saves back while a unit is handed over: a file has each unit that it names as its leader has it. */
import { createSignal } from '../../../cluster/waiting.ts';

export class SaveHolds {
  readonly #released = createSignal();
  #holds = 0;

  get isHeld(): boolean {
    return this.#holds > 0;
  }

  /** Until the function returned is called; calling it again does nothing. */
  hold(): () => void {
    let isReleased = false;
    this.#holds += 1;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#holds -= 1;
      this.#released.notify();
    };
  }

  /** Resolves when nothing holds saves back. Throws `Interrupted`. */
  async released(signal: AbortSignal): Promise<void> {
    await this.#released.until(() => !this.isHeld || undefined, signal);
  }
}
