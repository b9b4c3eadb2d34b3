/** The rows of a table of all pservers in the order of ids: read page by page from each pserver, and merged. */
import type { PlacedPserver, Placement } from '../placement/placement-view.ts';
import type { PserverGroup } from './pserver-group.ts';

/** The stream is at one row, whose bytes are valid until `next`. */
export interface RowStream {
  /** Id of the current row; undefined at the end. */
  id(): bigint | undefined;
  idBytes(): Uint8Array;
  values(): Uint8Array;
  state(): Uint8Array[];
  next(): Promise<void> | undefined;
}

export interface ScanOptions {
  readonly table: number;
  /** Optimizer state too. */
  readonly state: boolean;
  /** Rows of a page. */
  readonly maxRows: number;
}

interface Page {
  readonly ids: BigUint64Array;
  /** ids, values, then the state's columns: rows × bytes each. */
  readonly columns: readonly Uint8Array[];
  readonly done: boolean;
}

/** Calls `take` for each row of the table, of all pservers, ascending by unsigned id. */
export async function scanTable(
  group: PserverGroup,
  placement: Placement,
  options: ScanOptions,
  take: (row: RowStream) => Promise<void> | undefined,
): Promise<void> {
  const streams = await Promise.all(placement.pservers.map((pserver) => openStream(group, pserver, options)));
  for (;;) {
    let lowest: RowStream | undefined;
    for (const stream of streams) {
      if (stream.id() !== undefined && (lowest === undefined || stream.id()! < lowest.id()!)) lowest = stream;
    }
    if (lowest === undefined) return;
    const taking = take(lowest);
    if (taking !== undefined) await taking;
    const advancing = lowest.next();
    if (advancing !== undefined) await advancing;
  }
}

async function openStream(group: PserverGroup, pserver: PlacedPserver, options: ScanOptions): Promise<RowStream> {
  let page = await readPage(group, pserver, options, undefined);
  let row = 0;
  const cell = (column: Uint8Array): Uint8Array => {
    const bytes = column.length / page.ids.length;
    return column.subarray(row * bytes, (row + 1) * bytes);
  };
  return {
    id: () => page.ids[row],
    idBytes: () => cell(page.columns[0]!),
    values: () => cell(page.columns[1]!),
    state: () => page.columns.slice(2).map(cell),
    next() {
      row += 1;
      if (row < page.ids.length || page.done) return undefined;
      return readPage(group, pserver, options, page.ids[row - 1]).then((next) => {
        page = next;
        row = 0;
      });
    },
  };
}

/** Some pages take long, as the first one: the pserver sorts ids of the table. A repeated request sorts them again. */
const PAGE_TIMEOUT_MS = 600_000;

async function readPage(
  group: PserverGroup,
  pserver: PlacedPserver,
  options: ScanOptions,
  after: bigint | undefined,
): Promise<Page> {
  const from = after === undefined ? {} : { after: after.toString() };
  const reply = await group.ask(pserver, 'scanRows', { ...options, ...from }, [], PAGE_TIMEOUT_MS);
  try {
    const columns = Array.from({ length: reply.segmentCount }, (_, i) => new Uint8Array(reply.segment(i)));
    const ids = new BigUint64Array(columns[0]!.buffer);
    return { ids, columns, done: reply.header.done };
  } finally {
    reply.free();
  }
}
