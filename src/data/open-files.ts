/** The files of an index, read by ranges. */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { FileFacts } from '../base/seams.ts';
import { type Content, openContent } from './bytes/content.ts';
import type { DataPlace } from './place.ts';
import type { IndexedFile } from './source.ts';

type OpenFile = (place: DataPlace, path: string) => Promise<Content>;

interface OpenOne {
  readonly content: Promise<Content>;
  /** Number of reads in progress. */
  reads: number;
}

/**
 * Opened at their first chunk (decompressed, if they must be). As many as `LIMITS.openDataFiles` stay open, those that
 * were read last: a task may be of more files than a process may have open.
 */
export class OpenFiles {
  private readonly place: DataPlace;
  private readonly files: readonly IndexedFile[];
  /** The one that was read last comes last. */
  private readonly open = new Map<string, OpenOne>();
  /** Facts about each file, as they were when it was opened. */
  private readonly facts = new Map<string, FileFacts>();
  private readonly openFile: OpenFile;

  constructor(place: DataPlace, files: readonly IndexedFile[], openFile: OpenFile = openContent) {
    this.place = place;
    this.files = files;
    this.openFile = openFile;
  }

  path(file: number): string {
    return this.indexed(file).path;
  }

  /** `into`: an array of `count` bytes, which is returned. */
  bytes(file: number, offset: number, count: number, into?: Uint8Array): Promise<Uint8Array> {
    return this.range(this.indexed(file), offset, count, into);
  }

  labels(file: number, offset: number, count: number): Promise<Uint8Array> {
    const { path, labels } = this.indexed(file);
    assert(labels !== undefined, `${path} has labels`);
    return this.range(labels, offset, count);
  }

  /** Facts about the file when it was opened; undefined if none of it was read. */
  factsOf(path: string): FileFacts | undefined {
    return this.facts.get(path);
  }

  async close(): Promise<void> {
    const contents = await Promise.allSettled([...this.open.values()].map(({ content }) => content));
    this.open.clear();
    for (const content of contents) if (content.status === 'fulfilled') await content.value.file.close();
  }

  private indexed(file: number): IndexedFile {
    const indexed = this.files[file];
    assert(indexed !== undefined, 'the chunk was checked against the files');
    return indexed;
  }

  private async range(
    indexed: { readonly path: string; readonly bytes: number },
    offset: number,
    count: number,
    bytes: Uint8Array = new Uint8Array(count),
  ): Promise<Uint8Array> {
    const one = this.opened(indexed.path);
    one.reads += 1;
    try {
      const content = await one.content;
      if (content.bytes !== indexed.bytes) {
        throw new PaddletError(
          'DataChanged',
          `expected ${indexed.bytes} bytes in ${indexed.path}, its size when it was indexed, got ${content.bytes}`,
        );
      }
      assert(offset + count <= indexed.bytes, 'the range is in the file');
      const got = await content.file.read(bytes, offset);
      if (got < count) throw new PaddletError('DataChanged', `${indexed.path} is shorter than when it was indexed`);
      return bytes;
    } finally {
      one.reads -= 1;
      await this.closeUnused();
    }
  }

  private opened(path: string): OpenOne {
    const known = this.open.get(path);
    if (known !== undefined) {
      this.open.delete(path);
      this.open.set(path, known);
      return known;
    }
    const one: OpenOne = { content: this.openFile(this.place, path), reads: 0 };
    this.open.set(path, one);
    one.content.then(
      ({ facts }) => this.facts.set(path, facts),
      // The caller sees the failure; the next read tries again.
      () => this.open.delete(path),
    );
    return one;
  }

  private async closeUnused(): Promise<void> {
    const closing: Promise<Content>[] = [];
    for (const [path, { content, reads }] of this.open) {
      if (this.open.size <= LIMITS.openDataFiles) break;
      if (reads > 0) continue;
      this.open.delete(path);
      closing.push(content);
    }
    for (const content of closing) await (await content).file.close();
  }
}
