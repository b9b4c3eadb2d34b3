/** Lines from box to box along the lanes between the rows: none crosses a box. Pure; in pixels. */
import { type Box, HEADING, LANE, MARGIN } from './cluster-layout.ts';

export interface Route {
  /** Path of an SVG element. */
  readonly path: string;
  /** Position of the sign with the number of the route. */
  readonly sign: Point;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

const CORNER = 5;
/** Distance between lines of different groups, so that they can be distinguished. */
const APART = 4;

/** `lane`: 0, 1, 2 and so on for the lines of different groups. `width`: of the picture. */
export function routeOf(from: Box, to: Box, lane: number, width: number): Route {
  const apart = (((lane + 1) % 3) - 1) * APART;
  const isUp = to.y <= from.y;
  const leaves = { x: from.x + from.width / 2 + apart, y: isUp ? from.y : from.y + from.height };
  const isBeside = to.y === from.y;
  const arrives = { x: to.x + to.width / 2 + apart, y: isUp && !isBeside ? to.y + to.height : to.y };
  const away = LANE / 2 + apart;
  const firstY = leaves.y + (isUp ? -away : away);
  const lastY = isBeside ? firstY : arrives.y + (isUp ? away : -away);
  const points = isBeside
    ? [leaves, { x: leaves.x, y: firstY }, { x: arrives.x, y: firstY }, arrives]
    : [leaves, { x: leaves.x, y: firstY }, ...around(leaves.x, arrives.x, firstY, lastY, width, apart)];
  const all = isBeside ? points : [...points, { x: arrives.x, y: lastY }, arrives];
  return { path: rounded(all), sign: { x: arrives.x, y: lastY } };
}

/** Between two lanes: straight on where they meet, else along the nearer margin. */
function around(fromX: number, toX: number, firstY: number, lastY: number, width: number, apart: number): Point[] {
  if (Math.abs(lastY - firstY) <= LANE + HEADING + 2 * APART) return [{ x: toX, y: firstY }];
  const x = fromX + toX <= width ? MARGIN / 2 + apart / 2 : width - MARGIN / 2 + apart / 2;
  return [
    { x, y: firstY },
    { x, y: lastY },
  ];
}

function rounded(points: readonly Point[]): string {
  const parts = points.map((point, at) => {
    const [before, after] = [points[at - 1], points[at + 1]];
    if (before === undefined) return `M${point.x} ${point.y}`;
    if (after === undefined) return `L${point.x} ${point.y}`;
    const [begin, end] = [towards(point, before), towards(point, after)];
    return `L${begin.x} ${begin.y}Q${point.x} ${point.y} ${end.x} ${end.y}`;
  });
  return parts.join('');
}

/** A point near `from`, on the straight line to `to`. */
function towards(from: Point, to: Point): Point {
  const length = Math.abs(to.x - from.x) + Math.abs(to.y - from.y);
  const part = length === 0 ? 0 : Math.min(CORNER, length / 2) / length;
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}
