import { describe, expect, test } from 'vitest';
import { type Box, cellAt, layoutCluster, PADDING } from '../../../src/page/browser/cluster-layout.ts';
import { routeOf } from '../../../src/page/browser/routes.ts';
import * as fc from '../../properties.ts';

const keysOf = (role: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${role} ${at}`);

const layoutOf = (pservers: number, trainers: number, cells: number, width: number) =>
  layoutCluster(
    [
      { keys: ['master'], cells: 0, hasHeading: false, lines: 2 },
      { keys: keysOf('pserver', pservers), cells, hasHeading: true, lines: 3 },
      { keys: keysOf('trainer', trainers), cells: 0, hasHeading: true, lines: 3 },
    ],
    width,
  );

const overlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const clusters = fc.record({
  pservers: fc.integer({ min: 0, max: 80 }),
  trainers: fc.integer({ min: 0, max: 80 }),
  cells: fc.integer({ min: 0, max: 600 }),
  width: fc.integer({ min: 260, max: 1200 }),
});

/** The straight pieces of a path, its rounded corners cut. */
function piecesOf(path: string): (readonly [x1: number, y1: number, x2: number, y2: number])[] {
  const points = [...path.matchAll(/[MLQ ]*(-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const);
  return points.slice(1).map(([x, y], at) => [points[at]![0], points[at]![1], x, y] as const);
}

const crosses = ([x1, y1, x2, y2]: readonly [number, number, number, number], box: Box): boolean =>
  Math.max(x1, x2) > box.x &&
  Math.min(x1, x2) < box.x + box.width &&
  Math.max(y1, y2) > box.y &&
  Math.min(y1, y2) < box.y + box.height;

describe('the picture of the cluster', () => {
  test('boxes are inside of it and apart from each other, and cells inside of their box', () => {
    fc.assert(
      fc.property(clusters, ({ pservers, trainers, cells, width }) => {
        const { groups, height } = layoutOf(pservers, trainers, cells, width);
        const boxes = groups.flatMap((group) => group.boxes);
        expect(boxes).toHaveLength(1 + pservers + trainers);
        const outside = boxes.filter(
          (box) => box.x < 0 || box.x + box.width > width || box.y < 0 || box.y + box.height > height,
        );
        expect(outside).toEqual([]);
        expect(boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) => overlap(a, b)))).toEqual([]);
        const { cell, boxes: servers } = groups[1]!;
        const [box] = servers;
        if (cell === undefined || box === undefined || cells === 0) return;
        expect(cellAt(cell, cell.perRow - 1).x + cell.size).toBeLessThanOrEqual(box.width - 2 * PADDING);
        expect(cellAt(cell, cells - 1).y + cell.size).toBeLessThanOrEqual(cell.height);
        expect(cell.height).toBeLessThan(box.height);
      }),
    );
  });

  test('the more there are, the less each box says', () => {
    expect([1, 12, 20, 64].map((count) => layoutOf(count, 1, 8, 640).groups[1]!.room)).toEqual([
      ...['roomy', 'roomy', 'close', 'dense'],
    ]);
  });

  test('64 pservers and 64 trainers fit a phone; more cells than can be seen are not drawn', () => {
    const { groups } = layoutOf(64, 64, 16, 312);
    expect(Math.min(...groups.flatMap(({ boxes }) => boxes.map(({ width }) => width)))).toBeGreaterThanOrEqual(58);
    expect(groups[1]!.cell).toBeDefined();
    expect(layoutOf(1, 1, 4096, 640).groups[1]!.cell).toBeUndefined();
  });
});

describe('lines of waits', () => {
  test('begin and end at their boxes, and cross none', () => {
    fc.assert(
      fc.property(clusters, fc.nat(), fc.nat(), fc.nat(8), ({ pservers, trainers, cells, width }, from, to, lane) => {
        const boxes = layoutOf(pservers, trainers, cells, width).groups.flatMap((group) => group.boxes);
        const [source, target] = [boxes[from % boxes.length]!, boxes[to % boxes.length]!];
        fc.pre(source !== target);
        const pieces = piecesOf(routeOf(source, target, lane, width).path);
        expect(pieces.flatMap((piece) => boxes.filter((box) => crosses(piece, box)))).toEqual([]);
        const [first, last] = [pieces[0]!, pieces.at(-1)!];
        expect([source.y, source.y + source.height]).toContain(first[1]);
        expect([target.y, target.y + target.height]).toContain(last[3]);
        const across = pieces.flatMap(([x1, , x2]) => [x1, x2]);
        expect(Math.min(...across)).toBeGreaterThanOrEqual(0);
        expect(Math.max(...across)).toBeLessThanOrEqual(width);
      }),
    );
  });
});
