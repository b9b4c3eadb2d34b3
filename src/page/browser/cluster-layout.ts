/** Where the boxes of the picture are: a group of rows for each role, in the middle of the width. Pure; in pixels. */

export interface Box {
  readonly key: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** How much a box says. */
export type Room = (typeof ROOMS)[number]['room'];

export interface Group {
  readonly room: Room;
  /** Position of its heading. */
  readonly y: number;
  readonly boxes: readonly Box[];
  /** Grid of a box's units; undefined if they are too many to be drawn. */
  readonly cell: CellGrid | undefined;
}

export interface CellGrid {
  readonly size: number;
  readonly perRow: number;
  readonly height: number;
}

export interface GroupWish {
  readonly hasHeading: boolean;
  /** Lines of text per box, if there is room for all of them. */
  readonly lines: number;
  readonly keys: readonly string[];
  /** The most that one box shows. */
  readonly cells: number;
}

export interface ClusterLayout {
  readonly groups: readonly Group[];
  readonly height: number;
}

/** Free on the left and on the right, for lines that pass rows. */
export const MARGIN = 14;
/** Above each row, for lines; under the heading where it is the first of its group. */
export const LANE = 18;
export const PADDING = 8;
export const HEADING = 20;
const GAP = 10;
const WIDEST = 190;
const CELL_GAP = 2;
const CELL_SIZES = [10, 8, 6, 4];
const LINE = 17;

/** `height` is without text; `lines`, `rows` and `cellsHeight` are the most. */
const ROOMS = [
  { room: 'roomy', width: 126, height: 17, lines: 3, rows: 3, cellsHeight: 54 },
  { room: 'close', width: 84, height: 15, lines: 2, rows: 5, cellsHeight: 40 },
  { room: 'dense', width: 58, height: 4, lines: 2, rows: Number.POSITIVE_INFINITY, cellsHeight: 26 },
] as const;

export function layoutCluster(wishes: readonly GroupWish[], width: number): ClusterLayout {
  let y = 0;
  const groups = wishes.map((wish) => {
    const group = layoutGroup(wish, width, y);
    y = group.end;
    return group;
  });
  return { groups, height: y };
}

function layoutGroup(
  { keys, cells, hasHeading, lines }: GroupWish,
  width: number,
  y: number,
): Group & { readonly end: number } {
  const inner = Math.max(ROOMS[2].width, width - 2 * MARGIN);
  const most = (least: number): number => Math.max(1, Math.floor((inner + GAP) / (least + GAP)));
  const wished = ROOMS.find((one) => keys.length <= most(one.width) * one.rows)!;
  const { room, width: least } = wished;
  const rows = Math.ceil(keys.length / most(least));
  const columns = Math.ceil(keys.length / Math.max(1, rows));
  const boxWidth = Math.min(WIDEST, Math.floor((inner - (columns - 1) * GAP) / columns));
  const cell = cellGrid(cells, boxWidth - 2 * PADDING, wished.cellsHeight);
  const textHeight = wished.height + LINE * Math.min(lines, wished.lines);
  const height = textHeight + (cell === undefined ? LINE : cells === 0 ? 0 : cell.height + 6);
  const left = Math.floor((width - columns * boxWidth - (columns - 1) * GAP) / 2);
  const top = y + (hasHeading ? HEADING : 0);
  const boxes = keys.map((key, at) => ({
    key,
    x: left + (at % columns) * (boxWidth + GAP),
    y: top + LANE + Math.floor(at / columns) * (height + LANE),
    width: boxWidth,
    height,
  }));
  return { room, y, boxes, cell, end: top + rows * (height + LANE) + LANE };
}

function cellGrid(cells: number, width: number, highest: number): CellGrid | undefined {
  for (const size of CELL_SIZES) {
    const perRow = Math.max(1, Math.floor((width + CELL_GAP) / (size + CELL_GAP)));
    const height = Math.ceil(cells / perRow) * (size + CELL_GAP) - CELL_GAP;
    if (height <= highest) return { size, perRow, height: Math.max(0, height) };
  }
  return undefined;
}

/** The upper left corner of a cell in its box. */
export function cellAt({ size, perRow }: CellGrid, at: number): { readonly x: number; readonly y: number } {
  const step = size + CELL_GAP;
  return { x: (at % perRow) * step, y: Math.floor(at / perRow) * step };
}
