/** A record that cannot be read, and why. */
export interface BadRecord {
  readonly file: string;
  /** 1-based line (text) or record number (binary). */
  readonly line: number;
  readonly byteOffset: number;
  readonly reason: string;
  /** The line (text formats), as Latin-1 and cut off when long; of the first bad records of a task only. */
  readonly text?: string;
}
