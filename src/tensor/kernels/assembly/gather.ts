// Rows of `width` floats in the order of `positions` (n u32), and back.

/** Row i of `to` is row positions[i] of `from`. */
export function gatherRows(from: usize, positions: usize, n: u32, width: u32, to: usize): void {
  const bytes = width << 2;
  for (let i: u32 = 0; i < n; i++) {
    copyRow(from + load<u32>(positions + (i << 2)) * bytes, to, bytes);
    to += bytes;
  }
}

/** Row positions[i] of `to` is row i of `from`. */
export function scatterRows(from: usize, positions: usize, n: u32, width: u32, to: usize): void {
  const bytes = width << 2;
  for (let i: u32 = 0; i < n; i++) {
    copyRow(from, to + load<u32>(positions + (i << 2)) * bytes, bytes);
    from += bytes;
  }
}

@inline function copyRow(from: usize, to: usize, bytes: u32): void {
  let at: u32 = 0;
  for (; at + 16 <= bytes; at += 16) v128.store(to + at, v128.load(from + at));
  for (; at < bytes; at += 4) store<u32>(to + at, load<u32>(from + at));
}
