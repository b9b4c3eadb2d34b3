/**
 * An exported model as one safetensors file: all sizes are known, so the header comes first and every array has its
 * place. The header is written again at the end, with the checksums, which have a fixed length.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { DiskFile } from '../../base/seams.ts';
import {
  encodeHeader,
  HEADER_CRC,
  headerJson,
  LENGTH_BYTES,
  type Metadata,
  NO_HEADER_CRC,
  sealHeader,
  type TensorInfo,
} from '../file/safetensors/header.ts';
import { TENSOR_CRCS, tensorCrcsText } from '../file/safetensors/tensor-crcs.ts';
import { type ColumnSink, columnBytes, type ExportColumn } from './export.ts';

/** Throws `Usage` when the header would be longer than readers allow. */
export async function createSafetensorsSink(
  file: DiskFile,
  columns: readonly ExportColumn[],
  metadata: Metadata,
): Promise<ColumnSink> {
  const tensors: TensorInfo[] = [];
  const places = new Map<ExportColumn, { next: number; readonly end: number; crc: number }>();
  let end = 0;
  for (const column of columns) {
    const begin = end;
    end += columnBytes(column);
    tensors.push({ ...column, begin, end });
    places.set(column, { next: begin, end, crc: 0 });
  }
  const sealed = (): Metadata => {
    const crcs = new Map([...places].map(([{ name }, { crc }]) => [name, crc]));
    return { ...metadata, [TENSOR_CRCS]: tensorCrcsText(crcs), [HEADER_CRC]: NO_HEADER_CRC };
  };
  const writeHeader = async (): Promise<void> => {
    const header = encodeHeader(sealed(), tensors, bytes);
    assert(header !== undefined, 'the header fits in the room made for it');
    sealHeader(header);
    await file.write(header, 0);
  };
  const bytes = Math.ceil((LENGTH_BYTES + headerJson(sealed(), tensors).length) / 8) * 8;
  if (bytes - LENGTH_BYTES > LIMITS.safetensorsHeaderBytes) {
    throw new PaddletError('Usage', `the header for ${columns.length} arrays is longer than safetensors allows`, {
      hint: 'export fewer arrays with --vars',
    });
  }
  await writeHeader();
  return {
    async write(column, data) {
      const place = places.get(column);
      assert(place !== undefined && place.next + data.length <= place.end, `${column.name} has room for what comes`);
      await file.write(data, bytes + place.next);
      place.next += data.length;
      place.crc = crc32(data, place.crc);
    },
    async finish() {
      for (const [{ name }, { next, end }] of places) assert(next === end, `${name} is whole`);
      await writeHeader();
    },
  };
}
