import { expect } from 'vitest';
import { explore, type Shape } from './join-model.ts';

/** Everything that can happen in this shape is right; these are more than `fewest` worlds. */
export function expectComplete(shape: Shape, fewest: number): void {
  const { worlds, isComplete, mostInSync } = explore(shape);
  expect(isComplete).toBe(true);
  expect(worlds).toBeGreaterThan(fewest);
  expect(mostInSync).toBe(shape.nodes);
}
