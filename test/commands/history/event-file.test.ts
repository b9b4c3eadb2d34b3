/** Event files of TensorBoard, read back by other code than wrote them. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { crc32c } from '../../../src/base/crc32c.ts';
import { eventFile, type Scalar } from '../../../src/commands/history/event-file.ts';
import * as fc from '../../properties.ts';

const SCALARS: readonly Scalar[] = [
  { tag: 'train/logloss', time: 1795784668.25, step: 500, value: 0.6875 },
  { tag: 'test/auc', time: 1795784670.5, step: 2 ** 40 + 3, value: 0.75 },
];

/** CRC-32C bit by bit, as its definition has it. */
function plainCrc(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0;
}

const unmasked = (masked: number): number => {
  const rotated = (masked - 0xa282ead8) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
};

/** The data of each record. */
function recordsIn(file: Buffer): Buffer[] {
  const all: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    const length = Number(file.readBigUInt64LE(at));
    expect(unmasked(file.readUInt32LE(at + 8))).toBe(plainCrc(file.subarray(at, at + 8)));
    const data = file.subarray(at + 12, at + 12 + length);
    expect(unmasked(file.readUInt32LE(at + 12 + length))).toBe(plainCrc(data));
    all.push(data);
    at += length + 16;
  }
  return all;
}

/** The fields of a message by number. */
function fieldsOf(data: Buffer): Map<number, number | Buffer> {
  const fields = new Map<number, number | Buffer>();
  let at = 0;
  const varint = (): number => {
    for (let number = 0, unit = 1; ; unit *= 128) {
      const byte = data[at++]!;
      number += (byte & 127) * unit;
      if (byte < 128) return number;
    }
  };
  const take = (bytes: number): Buffer => {
    at += bytes;
    return data.subarray(at - bytes, at);
  };
  while (at < data.length) {
    const key = varint();
    const read = [varint, () => take(8).readDoubleLE(), () => take(varint())][key & 7] ?? (() => take(4).readFloatLE());
    fields.set(key >> 3, read());
  }
  return fields;
}

function scalarIn(data: Buffer): Scalar {
  const event = fieldsOf(data);
  const value = fieldsOf(fieldsOf(event.get(5) as Buffer).get(1) as Buffer);
  const [time, step] = [event.get(1) as number, event.get(2) as number];
  return { tag: String(value.get(1)), time, step, value: value.get(2) as number };
}

it('has the version first, then each scalar, with CRCs that are right', () => {
  const [begin, ...events] = recordsIn(eventFile({ created: 1795784668.25, scalars: SCALARS }));
  expect([...fieldsOf(begin!)]).toEqual([
    [1, 1795784668.25],
    [3, Buffer.from('brain.Event:2')],
  ]);
  expect(events.map(scalarIn)).toEqual(SCALARS);
});

it('has any scalars', () => {
  const scalar = fc.record({
    tag: fc.string({ minLength: 1, maxLength: 200 }),
    time: fc.double({ min: 0, max: 1e12, noNaN: true }),
    step: fc.maxSafeNat(),
    value: fc.float({ noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(scalar, { maxLength: 5 }), (scalars) => {
      expect(
        recordsIn(eventFile({ created: 1, scalars }))
          .slice(1)
          .map(scalarIn),
      ).toEqual(scalars);
    }),
  );
});

it('has the same bytes as ever', () => {
  const file = eventFile({ created: 1795784668.25, scalars: SCALARS });
  expect(createHash('sha256').update(file).digest('hex')).toBe(
    'c809aaf9e029c5595a899eefa0dd08684f999e6c175aa4dc375ea2709de8a1e7',
  );
});

it('CRC-32C is that of the RFC', () => {
  // RFC 3720, B.4.
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
  expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
});

/** That of the system has the package `python3-protobuf`, also where another one comes first. */
const python = ['python3', '/usr/bin/python3'].find(
  (one) => spawnSync(one, ['-c', 'import google.protobuf']).status === 0,
);

it.runIf(python !== undefined)('is decoded by the protobuf library of Python', () => {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-events-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'file');
  writeFileSync(path, eventFile({ created: 1795784668.25, scalars: SCALARS }));
  const { stdout, stderr } = spawnSync(python!, [join(import.meta.dirname, 'read-events.py'), path]);
  expect(String(stderr)).toBe('');
  const lines = String(stdout)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown[]);
  const scalars = SCALARS.map(({ time, step, tag, value }) => [time, step, tag, value]);
  expect(lines).toEqual([[1795784668.25, 'brain.Event:2'], ...scalars]);
});
