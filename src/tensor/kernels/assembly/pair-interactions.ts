// The pairs of a factorization machine (Rendle, ICDM 2010, lemma 3.1) over vectors that are there already, such as
// those of an embedding: z = ½ Σ_f (s_f² − q_f), with s_f = Σ_i v_if and q_f = Σ_i v_if². All f32: s and q are chains
// over the vectors, and factor f goes to sum f mod 4 of four, which are then added as (0 + 1) + (2 + 3).

const sums: usize = memory.data(16, 16);

/** `vectors` [records × count × factors], `outputs` [records]. */
export function pairInteractions(records: u32, count: u32, factors: u32, vectors: usize, outputs: usize): void {
  const vectorBytes = <usize>factors << 2;
  const whole = factors & ~3;
  for (let record: u32 = 0; record < records; record++) {
    let four = f32x4.splat(0);
    for (let f: u32 = 0; f < whole; f += 4) {
      let s = f32x4.splat(0);
      let q = s;
      let at = vectors + (f << 2);
      for (let i: u32 = 0; i < count; i++, at += vectorBytes) {
        const v = v128.load(at);
        s = f32x4.add(s, v);
        q = f32x4.add(q, f32x4.mul(v, v));
      }
      four = f32x4.add(four, f32x4.sub(f32x4.mul(s, s), q));
    }
    v128.store(sums, four);
    for (let f = whole; f < factors; f++) {
      let s: f32 = 0;
      let q: f32 = 0;
      let at = vectors + (f << 2);
      for (let i: u32 = 0; i < count; i++, at += vectorBytes) {
        const v = load<f32>(at);
        s += v;
        q += v * v;
      }
      const sum = sums + ((f & 3) << 2);
      store<f32>(sum, load<f32>(sum) + (s * s - q));
    }
    const z = <f32>0.5 * (load<f32>(sums) + load<f32>(sums, 4) + (load<f32>(sums, 8) + load<f32>(sums, 12)));
    store<f32>(outputs + (record << 2), z);
    vectors += count * vectorBytes;
  }
}

/** dz/dv_if = s_f − v_if: `to` [records × count × factors], from `gradient` [records]. */
export function pairGradient(
  records: u32,
  count: u32,
  factors: u32,
  vectors: usize,
  gradient: usize,
  to: usize,
): void {
  const vectorBytes = <usize>factors << 2;
  for (let record: u32 = 0; record < records; record++) {
    const slope = load<f32>(gradient + (record << 2));
    const slopes = f32x4.splat(slope);
    let f: u32 = 0;
    for (; f + 4 <= factors; f += 4) {
      let s = f32x4.splat(0);
      for (let i: usize = 0; i < count; i++) s = f32x4.add(s, v128.load(vectors + i * vectorBytes + (f << 2)));
      for (let i: usize = 0; i < count; i++) {
        const at = i * vectorBytes + (f << 2);
        v128.store(to + at, f32x4.mul(slopes, f32x4.sub(s, v128.load(vectors + at))));
      }
    }
    for (; f < factors; f++) {
      let s: f32 = 0;
      for (let i: usize = 0; i < count; i++) s += load<f32>(vectors + i * vectorBytes + (f << 2));
      for (let i: usize = 0; i < count; i++) {
        const at = i * vectorBytes + (f << 2);
        store<f32>(to + at, slope * (s - load<f32>(vectors + at)));
      }
    }
    vectors += count * vectorBytes;
    to += count * vectorBytes;
  }
}
