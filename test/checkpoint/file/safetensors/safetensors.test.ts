import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isHeaderIntact, readElements, readSafetensors } from '../../../../src/checkpoint/file/safetensors/reader.ts';
import { createSafetensorsWriter } from '../../../../src/checkpoint/file/safetensors/writer.ts';
import { createDisk } from '../../../../src/host/disk.ts';
import { createSimulatedDisk } from '../../../simulated-disk.ts';

const PATH = '/file';

function fileOf(header: string | Uint8Array, data = new Uint8Array(0), claimed?: bigint): Uint8Array {
  const json = typeof header === 'string' ? new TextEncoder().encode(header) : header;
  const length = new DataView(new ArrayBuffer(8));
  length.setBigUint64(0, claimed ?? BigInt(json.length), true);
  return Buffer.concat([new Uint8Array(length.buffer), json, data]);
}

async function read(bytes: Uint8Array) {
  const disk = createSimulatedDisk();
  disk.place(PATH, bytes);
  return readSafetensors(await disk.open(PATH), PATH);
}

const tensor = (begin: number, end: number, shape: unknown = [end - begin], dtype = 'U8'): string =>
  JSON.stringify({ dtype, shape, data_offsets: [begin, end] });

describe('the safetensors writer', () => {
  it('makes a file that its reader understands, in pieces of any size', async () => {
    const disk = createSimulatedDisk();
    const file = await disk.create(PATH);
    const paused: number[] = [];
    const pace = async (bytes: number): Promise<void> => void paused.push(bytes);
    const writer = await createSafetensorsWriter({ file, headerBytes: 512, metadata: { state: 'unfinished' }, pace });
    const large = new Uint8Array(2_500_000).map((_, at) => at * 7);
    await writer.append({ name: 'small "ü"', dtype: 'U8', shape: [3], parts: [Uint8Array.of(1), Uint8Array.of(2, 3)] });
    await writer.append({ name: 'large', dtype: 'U8', shape: [2, 1_250_000], parts: [large] });
    await writer.append({ name: 'empty', dtype: 'F32', shape: [0, 4], parts: [] });
    const bytes = await writer.finish({ state: 'done' });

    const source = await readSafetensors(file, PATH);
    expect(source).toMatchObject({ bytes, dataStart: 512 });
    expect(bytes).toBe(512 + 3 + large.length);
    expect(paused.reduce((sum, size) => sum + size)).toBe(3 + large.length);
    expect([...source.metadata]).toEqual([
      ['state', 'done'],
      ['headerCrc32', expect.stringMatching(/^[0-9a-f]{8}$/)],
    ]);
    expect(await isHeaderIntact(source)).toBe(true);
    expect([...source.tensors.values()].map(({ name, shape }) => [name, shape])).toEqual([
      ['small "ü"', [3]],
      ['large', [2, 1_250_000]],
      ['empty', [0, 4]],
    ]);
    const middle = await readElements(source, source.tensors.get('large')!, 1_000_001, new Uint8Array(5));
    expect([...middle]).toEqual([...large.subarray(1_000_001, 1_000_006)]);
  });

  it('leaves a file that does not pass for a whole one until it is finished', async () => {
    const disk = createSimulatedDisk();
    const file = await disk.create(PATH);
    const writer = await createSafetensorsWriter({ file, headerBytes: 256, metadata: { token: '3' } });
    await writer.append({ name: 'a', dtype: 'U8', shape: [2_000_000], parts: [new Uint8Array(2_000_000)] });
    await expect(readSafetensors(file, PATH)).rejects.toMatchObject({ code: 'CheckpointCorrupt' });
  });
});

describe('the safetensors reader', () => {
  it('reads a file of another writer', async () => {
    const source = await read(fileOf(`{"b":${tensor(2, 3)}, "a" : ${tensor(0, 2)}}   `, Uint8Array.of(1, 2, 3)));
    expect([...source.tensors.keys()]).toEqual(['a', 'b']);
    expect(source.metadata.size).toBe(0);
  });

  it.each<[string, Uint8Array, RegExp]>([
    ['is empty', new Uint8Array(0), /0 bytes/],
    ['claims a header of 2^60 bytes', fileOf('{}', undefined, 2n ** 60n), /got 1152921504606846976/],
    ['claims a header longer than itself', fileOf('{}', undefined, 99n), /claims 99 bytes/],
    ['is text', new TextEncoder().encode('1 3:1 11:1 14:1 19:1'), /expected a header of at most/],
    ['has no JSON', fileOf('nonsense'), /does not begin with/],
    ['has broken JSON', fileOf('{"a":'), /not valid/],
    ['has JSON that is not UTF-8', fileOf(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)), /not valid/],
    [
      'names a tensor twice',
      fileOf(`{"a":${tensor(0, 1)},"a":${tensor(0, 1)}}`, new Uint8Array(1)),
      /"a" occurs twice/,
    ],
    [
      'names it twice, once escaped',
      fileOf(`{"a":${tensor(0, 1)},"\\u0061":${tensor(0, 1)}}`, new Uint8Array(1)),
      /twice/,
    ],
    ['has a hole', fileOf(`{"a":${tensor(0, 1)},"b":${tensor(2, 3)}}`, new Uint8Array(3)), /a gap or an overlap/],
    ['has an overlap', fileOf(`{"a":${tensor(0, 2)},"b":${tensor(1, 3)}}`, new Uint8Array(3)), /a gap or an overlap/],
    ['is cut off', fileOf(`{"a":${tensor(0, 9)}}`, new Uint8Array(8)), /cover 9 bytes, the file has 8/],
    ['goes on after its tensors', fileOf(`{"a":${tensor(0, 1)}}`, new Uint8Array(2)), /cover 1 bytes/],
    ['has offsets unlike the shape', fileOf(`{"a":${tensor(0, 4, [2], 'F32')}}`, new Uint8Array(4)), /do not match/],
    ['has a product that overflows', fileOf(`{"a":${tensor(0, 0, [2 ** 40, 2 ** 40])}}`), /do not match/],
    ['has a negative size', fileOf(`{"a":${tensor(0, 1, [-1])}}`, new Uint8Array(1)), /bad shape/],
    ['has an unknown dtype', fileOf(`{"a":${tensor(0, 1, [1], 'Q4')}}`, new Uint8Array(1)), /unknown dtype/],
    ['has no description', fileOf('{"a":null}'), /no description/],
    ['nests deeply', fileOf(`{"a":${'['.repeat(50_000)}`), /nested too deeply/],
    ['has metadata that are not strings', fileOf('{"__metadata__":{"a":1}}'), /not a string/],
    ['has metadata that are no object', fileOf('{"__metadata__":["a"]}'), /not an object/],
  ])('refuses a file that %s', async (_, bytes, message) => {
    await expect(read(bytes)).rejects.toMatchObject({
      code: 'CheckpointCorrupt',
      message: expect.stringMatching(message),
    });
  });

  it('reads the end of a file of 20 GB', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'paddlet-large-'));
    try {
      const path = join(folder, 'large');
      const bytes = 20_000_000_000;
      const head = fileOf(`{"a":${tensor(0, bytes, [bytes / 4], 'F32')}}`);
      const sparse = await open(path, 'w');
      await sparse.write(head);
      await sparse.truncate(head.length + bytes);
      await sparse.write(Float32Array.of(1.5, 2.5), 0, 8, head.length + bytes - 8);
      await sparse.close();
      const file = await createDisk().open(path);
      const source = await readSafetensors(file, path);
      const last = await readElements(source, source.tensors.get('a')!, bytes / 4 - 3, new Float32Array(3));
      expect([...last]).toEqual([0, 1.5, 2.5]);
      await file.close();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('calls a file that shrinks while it is read, or a bad sector, by its name', async () => {
    const disk = createSimulatedDisk();
    disk.place(PATH, fileOf(`{"a":${tensor(0, 4)}}`, new Uint8Array(4)));
    const source = await readSafetensors(await disk.open(PATH), PATH);
    const a = source.tensors.get('a')!;
    const shrunk = { ...source, dataStart: source.dataStart + 2 };
    await expect(readElements(shrunk, a, 0, new Uint8Array(4))).rejects.toThrow(/\/file: a: ends at byte .* early/);
    disk.failNext('read', 'EIO');
    await expect(readElements(source, a, 0, new Uint8Array(4))).rejects.toMatchObject({ code: 'CheckpointCorrupt' });
  });
});
