/** The corrupt chunks that an unpacked file is without: logged once, and noted beside it in the cache. */
import { LIMITS } from '../../base/limits.ts';
import type { DataPlace } from '../place.ts';
import { writeWhole } from '../whole-file.ts';
import type { CorruptChunk } from './packings/packing.ts';

export interface Skipped {
  readonly chunks: number;
  /** As the headers of the chunks say, where these can be read. */
  readonly records: number;
}

const noteOf = (cached: string): string => `${cached}.skipped`;
/** Two numbers. */
const NOTE_BYTES = 100;

export class SkippedChunks {
  readonly #place: DataPlace;
  readonly #path: string;
  #chunks = 0;
  #records = 0;

  constructor(place: DataPlace, path: string) {
    this.#place = place;
    this.#path = path;
  }

  add({ message, records }: CorruptChunk): void {
    this.#chunks += 1;
    this.#records += records;
    if (this.#chunks > LIMITS.loggedCorruptChunks) return;
    this.#place.host.log.warn(`skipped a corrupt chunk: ${this.#path}: ${message}`, { records });
  }

  async write(cached: string): Promise<void> {
    if (this.#chunks === 0) return;
    const skipped: Skipped = { chunks: this.#chunks, records: this.#records };
    await writeWhole(this.#place.host, noteOf(cached), (append) => append(Buffer.from(JSON.stringify(skipped))));
  }
}

/** Undefined when there are none. */
export async function skippedIn({ host: { disk } }: DataPlace, cached: string): Promise<Skipped | undefined> {
  if (!(await disk.exists(noteOf(cached)))) return undefined;
  const file = await disk.open(noteOf(cached));
  try {
    const bytes = Buffer.alloc(NOTE_BYTES);
    // It is as this program wrote it: it was renamed when it was whole.
    return JSON.parse(bytes.toString('latin1', 0, await file.read(bytes, 0))) as Skipped;
  } finally {
    await file.close();
  }
}
