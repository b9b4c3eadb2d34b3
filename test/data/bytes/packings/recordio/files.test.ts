/** RecordIO files as data: the records of the text, whatever the compressor and whatever is around the file. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { headOf } from '../../../../../src/data/bytes/content.ts';
import { ForwardBytes } from '../../../../../src/data/bytes/forward.ts';
import { COMPRESSORS } from '../../../../../src/data/bytes/packings/recordio/header.ts';
import { packLines } from '../../../../../src/data/bytes/packings/recordio/pack.ts';
import { openForward } from '../../../../../src/data/bytes/packings/unpack.ts';
import { buildIndex } from '../../../../../src/data/index-builder.ts';
import { recordsOf } from '../../../formats/csv/read-files.ts';
import { chunkOf, contentOf, placeOf, textOf } from './recordio.ts';

/** Every seventh is empty. */
const RECORDS = Array.from({ length: 1000 }, (_, at) => (at % 7 === 3 ? '' : `${at % 2} ${at}:1 ${at * 31}:0.25`));
const TEXT = RECORDS.map((record) => `${record}\n`).join('');

async function* blocksOf(bytes: Uint8Array, blockBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += blockBytes) yield bytes.subarray(at, at + blockBytes);
}

async function packed(text: string | Buffer, options: Partial<Parameters<typeof packLines>[1]> = {}) {
  const parts: Uint8Array[] = [];
  const how = { path: 'text', compressor: 'none', chunkBytes: 4096, chunkRecords: 1e6, ...options } as const;
  const made = await packLines(
    new ForwardBytes(blocksOf(Buffer.from(text), text.length > 1e6 ? 1e6 : 999)),
    how,
    async (part) => {
      parts.push(Buffer.from(part));
    },
  );
  const bytes = Buffer.concat(parts);
  expect(bytes.length).toBe(made.bytes);
  return { ...made, bytes };
}

test.each(COMPRESSORS)('1,000 records, empty ones among them, in chunks of %s', async (compressor) => {
  const { bytes, records, chunks } = await packed(TEXT, { compressor });
  expect([records, chunks]).toEqual([1000, Math.ceil((TEXT.length + 3 * 1000) / 4150)]);
  const place = placeOf(bytes);
  expect(await textOf(place)).toBe(TEXT);
  // An empty record is as an empty line.
  const index = await buildIndex(place, { what: 'a', format: 'libsvm', recordsPerTask: 100 });
  expect(index.records).toBe(RECORDS.filter((record) => record !== '').length);
  writeFileSync(join(place.folder, 'b'), gzipSync(bytes));
  expect(await textOf(place, 'b')).toBe(TEXT);
  expect(Buffer.from((await headOf(place, 'b')).bytes).toString()).toBe(TEXT);
  for (const piped of [bytes, gzipSync(bytes)]) {
    const content = await openForward('stdin', blocksOf(piped, 700));
    expect((await content.take(1e6)).toString()).toBe(TEXT);
  }
});

test('a chunk ends with so many records, or bytes, and the last line needs no end', async () => {
  expect(await packed(TEXT, { chunkRecords: 300, chunkBytes: 1e6 })).toMatchObject({ chunks: 4, records: 1000 });
  expect(await packed('a\nb\n\nc', { chunkRecords: 2, chunkBytes: 100 })).toMatchObject({ chunks: 2, records: 4 });
  // The lengths count: short lines would be many.
  expect(await packed('a\nb\nc\nd\n', { chunkBytes: 10 })).toMatchObject({ chunks: 2, records: 4 });
  expect(await packed('a\nb\n', { chunkBytes: 1 })).toMatchObject({ chunks: 2, records: 2 });
  expect((await packed('a\r\n\n')).bytes.equals(chunkOf(['a\r', '']))).toBe(true);
  expect(await packed('')).toMatchObject({ chunks: 0, records: 0, bytes: Buffer.alloc(0) });
  await expect(packed(Buffer.alloc(17 << 20, 'x'))).rejects.toThrow('text has a line of more than 16777216 bytes');
});

test('the same rows of CSV have the same records and the same bad ones as the text', async () => {
  const text = 'x,label\n1,1\nbad,0\n"2",0\n\n3,1\n4\n';
  const place = placeOf((await packed(text, { compressor: 'snappy', chunkRecords: 2 })).bytes);
  writeFileSync(join(place.folder, 'b'), text);
  const [of, plain] = [await recordsOf(place, { what: 'a' }), await recordsOf(place, { what: 'b' })];
  const places = (all: typeof of) => JSON.stringify(all).replaceAll(/"(path|file)":"[ab]"|"digest":"\w+"|"[ab]:/g, '');
  expect(of.records).toBe(5);
  expect(places(of)).toBe(places(plain));
});

test('line breaks in a record: as in a text, but in JSON they are spaces', async () => {
  const records = ['{\n"a": 1\n}\n', ' {"b":\r\n2} ', '1,"x\ny"', '{"open":\n', '[1,\n2]', '\n', 'end\n\n'];
  expect(await contentOf(chunkOf(records))).toBe('{ "a": 1 }\n {"b":\r 2} \n1,"x\ny"\n{"open":\n[1,\n2]\n\nend\n\n');
});

test.each([
  ['objects, one a line', '{"a":1}\n{"a":2}', '{"a":1}\n{"a":2}\n'],
  ['with blanks and empty lines', '{"a":1} \r\n\n {"a":\n2}', '{"a":1} \r\n\n {"a":\n2}\n'],
  ['one that holds others', '{"a":[{}\n,\n{}],"b":{}\n}', '{"a":[{} , {}],"b":{} }\n'],
  ['a byte order mark', '\ufeff{"a":\n1}', '\ufeff{"a": 1}\n'],
])('JSON in a record: %s', async (_, record, text) => {
  expect(await contentOf(chunkOf([record]))).toBe(text);
});
