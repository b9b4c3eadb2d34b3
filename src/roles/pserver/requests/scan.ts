/**
 * Reads tables page by page in id order, and dense blocks, with their optimizer state. The master needs this for
 * digests, and trainers to write the model. A request continues a scan with the table and the last id that it returned.
 */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { ReplyHeader, RequestHeader } from '../../../protocol/messages/all-messages.ts';
import type { Outgoing } from '../../../protocol/messages/channel.ts';
import type { ShardRows } from '../../../tensor/parameters.ts';
import type { OwnedShards } from '../held/owned-shards.ts';
import { checkStamp } from './checks.ts';
import { TableScan } from './table-scan.ts';

type ScanRows = Extract<RequestHeader, { type: 'scanRows' }>;
type ScanBlock = Extract<RequestHeader, { type: 'scanBlock' }>;

/** Number of scans whose next ids are kept: for the master, a trainer, and some abandoned scans. */
const MOST_KEPT = 4;

export interface ScannerOptions {
  readonly shards: Pick<OwnedShards, 'parameters' | 'numbers' | 'stamp'>;
  /** Resolves after the event loop has handled other events. */
  readonly turn: () => Promise<void>;
  readonly keptIds?: number;
}

/** The state of a scan between two pages. */
interface KeptScan extends Pick<OwnedShards, 'parameters' | 'stamp'> {
  readonly table: number;
  readonly scan: TableScan;
}

export class Scanner {
  readonly #options: ScannerOptions;
  /** The most recently used scan is last. */
  #kept: KeptScan[] = [];
  /** Pages are read one at a time, to bound the memory. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(options: ScannerOptions) {
    this.#options = options;
  }

  /** Throws `StalePlacement`, and `NotReady` if all pservers go back to a cut in the meantime. */
  rows(header: ScanRows): Promise<Outgoing<ReplyHeader>> {
    const page = this.#reading.then(() => this.#page(header));
    this.#reading = Promise.allSettled([page]);
    return page;
  }

  async #page({ placement, table, after, maxRows, state }: ScanRows): Promise<Outgoing<ReplyHeader>> {
    const { shards, turn } = this.#options;
    checkStamp(shards, placement);
    const { parameters, stamp } = shards;
    const check = (): void => {
      checkStamp(shards, placement);
      if (shards.parameters !== parameters) throw new PaddletError('NotReady', 'all pservers go back to a cut');
    };
    const most = Math.min(maxRows, rowsOfFrame(parameters.rowBytes(table)));
    const scan = this.#resume(table, after === undefined ? undefined : BigInt(after));
    for (;;) {
      const { ids, isLast } = await scan.page(most, async () => {
        await turn();
        check();
      });
      check();
      const rows = parameters.readRows(table, ids);
      // Rows may be removed after their ids were sorted. A page without rows would say that nothing follows.
      if (rows.ids.length === 0 && !isLast) continue;
      if (!isLast) this.#kept = [...this.#kept, { table, scan, parameters, stamp }].slice(-MOST_KEPT);
      return answerOf(rows, isLast, state);
    }
  }

  /** Drops scans of other units or of an earlier state: their ids may no longer be present. */
  #resume(table: number, after: bigint | undefined): TableScan {
    const { shards, keptIds } = this.#options;
    const { parameters, stamp, numbers } = shards;
    this.#kept = this.#kept.filter((one) => one.parameters === parameters && one.stamp === stamp);
    const found = this.#kept.find((one) => after !== undefined && one.table === table && one.scan.position === after);
    this.#kept = this.#kept.filter((one) => one !== found);
    return found?.scan ?? new TableScan({ parameters, table, shards: numbers, after, keptIds });
  }

  block({ parameter, block, state }: ScanBlock): Outgoing<ReplyHeader> {
    const found = this.#options.shards.parameters.readBlock(parameter, block);
    const slots = Object.keys(found.slots).sort();
    const segments = [bytesOf(found.values), ...(state ? slots.map((slot) => bytesOf(found.slots[slot]!)) : [])];
    const step = found.step === undefined ? {} : { step: found.step };
    return { header: { type: 'scanBlock', slots: state ? slots : [], ...step }, segments };
  }
}

function answerOf(rows: ShardRows, done: boolean, state: boolean): Outgoing<ReplyHeader> {
  const slots = Object.keys(rows.slots).sort();
  const segments = [bytesOf(rows.ids), bytesOf(rows.values)];
  if (state) {
    segments.push(...slots.map((slot) => bytesOf(rows.slots[slot]!)));
    for (const words of [rows.steps, rows.seen]) if (words !== undefined) segments.push(bytesOf(words));
  }
  return { header: { type: 'scanRows', rows: rows.ids.length, done, slots: state ? slots : [] }, segments };
}

/** Most rows that fit into a frame. A page may be shorter than requested. */
const rowsOfFrame = (rowBytes: number): number => Math.floor((LIMITS.frameBytes - LIMITS.frameHeaderBytes) / rowBytes);

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
