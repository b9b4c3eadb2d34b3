/**
 * A permutation of 0 … n−1 that is a function of (seed, pass) alone: Fisher–Yates (Durstenfeld 1964) with numbers of a
 * splitmix32 stream (Steele, Lea, Flood 2014), without modulo bias.
 */
export function shuffled(n: number, seed: number, pass: number): Uint32Array {
  const order = new Uint32Array(n);
  for (let i = 0; i < n; i++) order[i] = i;
  const next = splitmix32(
    Math.imul(seed | 0, 0x9e3779b1) ^ Math.imul(pass + 1, 0x85ebca77) ^ Math.floor(seed / 2 ** 32),
  );
  for (let i = n - 1; i > 0; i--) {
    const j = below(i + 1, next);
    const kept = order[i]!;
    order[i] = order[j]!;
    order[j] = kept;
  }
  return order;
}

/** The same for the records of a task: a function of (seed, pass, task). */
export const shuffledTask = (n: number, seed: number, pass: number, task: number): Uint32Array =>
  shuffled(n, (Math.imul(seed | 0, 0xc2b2ae3d) ^ Math.imul(task + 1, 0x27d4eb2f)) >>> 0, pass);

function splitmix32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
}

/** Uniform in 0 … bound − 1: numbers of the incomplete last multiple of `bound` are rejected. */
function below(bound: number, next: () => number): number {
  const limit = 2 ** 32 - (2 ** 32 % bound);
  for (;;) {
    const drawn = next();
    if (drawn < limit) return drawn % bound;
  }
}
