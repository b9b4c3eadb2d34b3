/**
 * In which order trainers that ask are chosen to write the model: who was chosen and did not write it is chosen last.
 * Pure.
 */
export class SaveTurns {
  readonly #maxWaitMs: number;
  /** Live trainers by how often they were chosen and did not write the model. */
  readonly #failures = new Map<string, number>();
  readonly #live = new Set<string>();
  /** When a trainer first waited for others to go first, since the last choice. */
  #waitsSince: number | undefined;

  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  joined(trainer: string): void {
    this.#live.add(trainer);
  }

  left(trainer: string): void {
    this.#live.delete(trainer);
    this.#failures.delete(trainer);
  }

  live(): readonly string[] {
    return [...this.#live];
  }

  failuresOf(trainer: string): number {
    return this.#failures.get(trainer) ?? 0;
  }

  failed(trainer: string): void {
    this.#failures.set(trainer, this.failuresOf(trainer) + 1);
  }

  wrote(trainer: string): void {
    this.#failures.delete(trainer);
  }

  /** A choice was made. */
  chose(): void {
    this.#waitsSince = undefined;
  }

  /** Others that failed less often, but for `silent`, may still ask: they have so long from the first such question. */
  mustWait(trainer: string, silent: string | undefined, now: number): boolean {
    const mine = this.failuresOf(trainer);
    const isBetter = (other: string): boolean => other !== silent && this.failuresOf(other) < mine;
    if (![...this.#live].some(isBetter)) return false;
    this.#waitsSince ??= now;
    return now < this.#waitsSince + this.#maxWaitMs;
  }
}
