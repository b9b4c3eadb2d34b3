/** The line of each record, as runs of lines that follow each other: one run where each line is a record. */
export class LineRuns {
  #positions = new Uint32Array(16);
  #lines = new Float64Array(16);
  #count = 0;
  #nextPosition = 0;
  #nextLine = -1;

  /** The records that come next begin a run, whatever their line is. */
  break(): void {
    this.#nextLine = -1;
  }

  add(line: number): void {
    if (line !== this.#nextLine) this.#begin(this.#nextPosition, line);
    this.#nextPosition += 1;
    this.#nextLine = line + 1;
  }

  /** `lines`: of the records that come next, each less `firstLine`. */
  addAll(lines: Uint32Array, firstLine: number): void {
    for (const line of lines) this.add(firstLine + line);
  }

  finish(): { readonly positions: Uint32Array; readonly lines: Float64Array } {
    return { positions: this.#positions.subarray(0, this.#count), lines: this.#lines.subarray(0, this.#count) };
  }

  #begin(position: number, line: number): void {
    if (this.#count === this.#positions.length) {
      const [positions, lines] = [this.#positions, this.#lines];
      this.#positions = new Uint32Array(2 * this.#count);
      this.#positions.set(positions);
      this.#lines = new Float64Array(2 * this.#count);
      this.#lines.set(lines);
    }
    this.#positions[this.#count] = position;
    this.#lines[this.#count] = line;
    this.#count += 1;
  }
}
