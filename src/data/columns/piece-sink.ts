import type { BadRecord } from '../source.ts';
import type { ColumnPiece } from './piece.ts';

/** What takes the records of some text, one after the other. */
export interface PieceSink {
  /** Records that may be added at once; none when there is no room for more. */
  readonly quota: number;
  readonly badRecords: number;
  /** At most `quota` records. `firstLine` is that of the text. */
  add(piece: ColumnPiece, firstLine: number): void;
  /** It begins and ends there in the text, its line break included. `position`: in the file, if others are left out. */
  bad(record: BadRecord, start: number, end: number, position?: number): void;
}
