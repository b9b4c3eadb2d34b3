import type { Generation } from './entry.ts';

/** A checkpoint file that was named: by a person, by the folder that it is in, or by the store. */
export interface FileRef {
  readonly path: string;
  /** What the path says of it: undefined for a file that was named by hand. */
  readonly index?: number;
  readonly uuid?: string;
  /** What was published of it, where a store knows. */
  readonly published?: Generation;
  /** The files of the same pserver that were published before it, where a store knows. */
  readonly earlier?: readonly Generation[];
}
