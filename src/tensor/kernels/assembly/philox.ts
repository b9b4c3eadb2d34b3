// Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): random words as a
// pure function of a counter and a key.

const MULTIPLIER_0: u32 = 0xd2511f53;
const MULTIPLIER_1: u32 = 0xcd9e8d57;
const WEYL_0: u32 = 0x9e3779b9;
const WEYL_1: u32 = 0xbb67ae85;
const ROUNDS = 10;

/** Four words at `out` for the counter (c0, c1, c2, c3). */
export function philox(out: usize, key: u64, first: u32, second: u32, third: u32, fourth: u32): void {
  let c0 = first;
  let c1 = second;
  let c2 = third;
  let c3 = fourth;
  let k0 = <u32>key;
  let k1 = <u32>(key >> 32);
  for (let round = 0; round < ROUNDS; round++) {
    const product0 = <u64>MULTIPLIER_0 * <u64>c0;
    const product1 = <u64>MULTIPLIER_1 * <u64>c2;
    c0 = <u32>(product1 >> 32) ^ c1 ^ k0;
    c1 = <u32>product1;
    c2 = <u32>(product0 >> 32) ^ c3 ^ k1;
    c3 = <u32>product0;
    k0 += WEYL_0;
    k1 += WEYL_1;
  }
  store<u32>(out, c0);
  store<u32>(out, c1, 4);
  store<u32>(out, c2, 8);
  store<u32>(out, c3, 12);
}

@inline function highWords(a: v128, b: v128): v128 {
  return v128.shuffle<i32>(i64x2.extmul_low_i32x4_u(a, b), i64x2.extmul_high_i32x4_u(a, b), 1, 3, 5, 7);
}

/** Sixteen words at `out`: those of four counters, one a lane, one after the other. */
export function philox4(out: usize, key: u64, first: v128, second: v128, third: v128, fourth: v128): void {
  const m0 = i32x4.splat(MULTIPLIER_0);
  const m1 = i32x4.splat(MULTIPLIER_1);
  let c0 = first;
  let c1 = second;
  let c2 = third;
  let c3 = fourth;
  let k0 = i32x4.splat(<u32>key);
  let k1 = i32x4.splat(<u32>(key >> 32));
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = highWords(c0, m0);
    const high1 = highWords(c2, m1);
    const low0 = i32x4.mul(c0, m0);
    const low1 = i32x4.mul(c2, m1);
    c0 = v128.xor(v128.xor(high1, c1), k0);
    c1 = low1;
    c2 = v128.xor(v128.xor(high0, c3), k1);
    c3 = low0;
    k0 = i32x4.add(k0, i32x4.splat(WEYL_0));
    k1 = i32x4.add(k1, i32x4.splat(WEYL_1));
  }
  // Lanes are counters: turned, so that the four words of a counter are adjacent.
  const low01 = v128.shuffle<i32>(c0, c1, 0, 4, 1, 5);
  const high01 = v128.shuffle<i32>(c0, c1, 2, 6, 3, 7);
  const low23 = v128.shuffle<i32>(c2, c3, 0, 4, 1, 5);
  const high23 = v128.shuffle<i32>(c2, c3, 2, 6, 3, 7);
  v128.store(out, v128.shuffle<i64>(low01, low23, 0, 2));
  v128.store(out, v128.shuffle<i64>(low01, low23, 1, 3), 16);
  v128.store(out, v128.shuffle<i64>(high01, high23, 0, 2), 32);
  v128.store(out, v128.shuffle<i64>(high01, high23, 1, 3), 48);
}
