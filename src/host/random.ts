import { randomUUID } from 'node:crypto';
import type { Random } from '../base/seams.ts';

export function createRandom(): Random {
  return { uuid: () => randomUUID(), fraction: () => Math.random() };
}
