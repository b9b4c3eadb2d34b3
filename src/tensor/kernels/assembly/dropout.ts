// Dropout (Srivastava et al., JMLR 2014), inverted: what is kept is scaled up, so that nothing is to be done when a
// model is evaluated.

import { philox4 } from './philox';

const words: usize = memory.data(64, 16);

/**
 * A multiplier for each of `count` floats: 0 where its random word is below `threshold`, `scale` elsewhere. Words
 * depend on the key and the mini-batch only: Philox counts (place / 4, batch, task, pass).
 */
export function drawMultipliers(
  count: u32,
  threshold: u32,
  scale: f32,
  keyLow: u32,
  keyHigh: u32,
  batch: u32,
  task: u32,
  pass: u32,
  to: usize,
): void {
  const key = <u64>keyLow | (<u64>keyHigh << 32);
  for (let at: u32 = 0; at < count; at += 16) {
    const groups = i32x4.add(i32x4.splat(at >> 2), i32x4(0, 1, 2, 3));
    philox4(words, key, groups, i32x4.splat(batch), i32x4.splat(task), i32x4.splat(pass));
    const some = min<u32>(16, count - at);
    for (let i: u32 = 0; i < some; i++) {
      store<f32>(to + ((at + i) << 2), load<u32>(words + (i << 2)) < threshold ? 0 : scale);
    }
  }
}
