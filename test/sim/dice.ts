/** All randomness of a simulated world: streams that depend on the seed and their own name only. */
import { createRandomStream } from '../../src/data/synth/random-stream.ts';

export interface Dice {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** Uniform in [low, high). */
  between(low: number, high: number): number;
  /** A whole number in [low, high]. */
  whole(low: number, high: number): number;
  /** True so often. */
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** A version 4 UUID. */
  uuid(): string;
}

/** A stream of its own for each name: drawing more from one changes no other. */
export function createDice(seed: number, name: string): Dice {
  const stream = createRandomStream(mix(seed, name));
  const fraction = stream.uniform;
  const whole = (low: number, high: number): number => low + Math.floor(fraction() * (high - low + 1));
  return {
    fraction,
    between: (low, high) => low + fraction() * (high - low),
    whole,
    chance: (probability) => fraction() < probability,
    pick: (from) => from[whole(0, from.length - 1)]!,
    uuid: () => {
      const hex = Array.from({ length: 32 }, () => whole(0, 15).toString(16));
      hex[12] = '4';
      hex[16] = (8 + whole(0, 3)).toString(16);
      const text = hex.join('');
      return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
    },
  };
}

/** FNV-1a over the name, begun from the seed. */
function mix(seed: number, name: string): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193) >>> 0;
  return hash * 4096 + (Math.floor(seed / 2 ** 32) & 0xfff);
}
