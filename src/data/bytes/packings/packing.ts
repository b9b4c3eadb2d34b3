/** How a file may be packed around the text or the binary data that formats read. `unpack.ts` lists the packings. */
import type { DiskFile } from '../../../base/seams.ts';
import type { ForwardBytes } from '../forward.ts';

export interface Packing {
  /** Whether these first `MAGIC_BYTES` of a file, or all of a shorter one, begin what is packed so. */
  begins(bytes: Uint8Array): boolean;
  /** What is in it, block by block. Throws `DataInvalid`, and what reading `packed` throws. */
  unpack(packed: ForwardBytes, from: PackedSource): AsyncGenerator<Uint8Array>;
}

/** Length of the longest magic number. */
export const MAGIC_BYTES = 4;

export interface PackedSource {
  /** Path of the file, for messages. */
  readonly path: string;
  /** Where what is packed can be read again, to say what is wrong with it. */
  readonly file?: Pick<DiskFile, 'read' | 'size'> | undefined;
  /** Lets the event loop turn, in a long search for what follows damage. */
  readonly turn?: (() => Promise<void>) | undefined;
  /** Called with each corrupt chunk of a RecordIO file, which is skipped; without it, a corrupt chunk is an error. */
  readonly onCorruptChunk?: ((chunk: CorruptChunk) => void) | undefined;
}

export interface CorruptChunk {
  /** The number of the chunk, where it begins, and what is wrong with it. */
  readonly message: string;
  /** As its header says; 0 if that is damaged too. */
  readonly records: number;
}
