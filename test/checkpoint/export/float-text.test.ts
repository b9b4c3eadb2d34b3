import { describe, expect, it } from 'vitest';
import { floatText, LONGEST_FLOAT, writeFloat } from '../../../src/checkpoint/export/float-text.ts';

const bytes = new Uint8Array(2 * LONGEST_FLOAT);
function written(value: number): string {
  const end = writeFloat(bytes, 3, value);
  expect(end - 3).toBeLessThanOrEqual(LONGEST_FLOAT);
  return Buffer.from(bytes.subarray(3, end)).toString('latin1');
}

describe('a float as text', () => {
  it.each([
    [0, '0'],
    [-0, '-0'],
    [0.1, '0.1'],
    [-0.001, '-0.001'],
    [1.5, '1.5'],
    [1e-6, '0.000001'],
    [1e-7, '1e-7'],
    [9.999999e-7, '9.999999e-7'],
    [999_999.9375, '999999.94'],
    [16_777_216, '16777216'],
    [123_456_792, '123456792'],
    [999_999_936, '999999936'],
    [1e9, '1000000000'],
    [3.4028234663852886e38, '3.4028234663852886e+38'],
    [1.401298464324817e-45, '1.4013e-45'],
    [Number.NaN, 'nan'],
    [Number.POSITIVE_INFINITY, 'inf'],
    [Number.NEGATIVE_INFINITY, '-inf'],
  ])('%d is %s', (value, text) => {
    expect(written(Math.fround(value))).toBe(text);
  });

  it('is the same digit by digit as by the engine, and reads back to the same bits, over all exponents', () => {
    const words = new Uint32Array(1);
    const floats = new Float32Array(words.buffer);
    let state = 12345;
    for (let i = 0; i < 100_000; i++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
      // A third anywhere, a third where weights are, a third with few digits.
      const kind = i % 3;
      if (kind === 0) words[0] = state;
      else floats[0] = kind === 1 ? (state / 2 ** 31) * 10 ** ((i % 17) - 8) : Math.round(state / 1e4) / 10 ** (i % 9);
      const value = floats[0]!;
      const text = written(value);
      if (Number.isFinite(value) && Math.fround(Number(text)) !== value) expect(text).toBe(`reads back as ${value}`);
      if (text !== (Number.isInteger(value) && !Object.is(value, -0) ? String(value) : floatText(value))) {
        expect(text).toBe(floatText(value));
      }
    }
  });
});
