/** The files of an index, each opened once, read by ranges. */
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import type { FileFacts } from '../base/seams.ts';
import { type Content, openContent } from './content.ts';
import type { DataPlace } from './place.ts';
import type { IndexedFile } from './source.ts';

type OpenFile = (place: DataPlace, path: string) => Promise<Content>;

/** Opened at their first chunk (inflated, if they must be); they stay open until `close`. */
export class OpenFiles {
  private readonly place: DataPlace;
  private readonly files: readonly IndexedFile[];
  private readonly open = new Map<string, Promise<Content>>();
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

  /** Of the file when it was opened; undefined when none of it was read. */
  async factsOf(path: string): Promise<FileFacts | undefined> {
    return (await this.open.get(path))?.facts;
  }

  async close(): Promise<void> {
    const contents = await Promise.allSettled(this.open.values());
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
    const content = await this.content(indexed.path);
    if (content.bytes !== indexed.bytes) {
      throw new PaddletError(
        'DataChanged',
        `${indexed.path} has ${content.bytes} bytes, not ${indexed.bytes} as indexed`,
      );
    }
    assert(offset + count <= indexed.bytes, 'the range is in the file');
    const got = await content.file.read(bytes, offset);
    if (got < count) throw new PaddletError('DataChanged', `${indexed.path} has become shorter than it was indexed`);
    return bytes;
  }

  private content(path: string): Promise<Content> {
    const known = this.open.get(path);
    if (known !== undefined) return known;
    const opening = this.openFile(this.place, path);
    this.open.set(path, opening);
    // The caller sees the failure; the next read tries again.
    opening.catch(() => this.open.delete(path));
    return opening;
  }
}
