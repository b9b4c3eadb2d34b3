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

  /** `runs`: pairs of the records before a run, and its line less `firstLine`; the first one is of the first record. */
  addRuns(runs: Uint32Array, records: number, firstLine: number): void {
    if (records === 0) return;
    const before = this.#nextPosition;
    for (let at = 0; at < runs.length; at += 2) {
      const line = firstLine + runs[at + 1]!;
      if (at > 0 || line !== this.#nextLine) this.#begin(before + runs[at]!, line);
    }
    this.#nextPosition = before + records;
    this.#nextLine = this.#lines[this.#count - 1]! + this.#nextPosition - this.#positions[this.#count - 1]!;
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
