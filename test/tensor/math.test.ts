import { describe, expect, it } from 'vitest';
import { cos, exp, log, log1p, pow, sigmoid, sin, tanh } from '../../src/tensor/math.ts';
import {
  exactCos,
  exactExp,
  exactLog,
  exactLog1p,
  exactPow,
  exactSigmoid,
  exactSin,
  exactTanh,
  fixed,
  ulpError,
} from './exact.ts';

/** Points spread evenly over [low, high), none of them round. */
const spread = (low: number, high: number, count = 150): number[] =>
  Array.from({ length: count }, (_, i) => low + (high - low) * ((i * 0.6180339887498949 + 0.1) % 1));

function worst(points: readonly number[], got: (x: number) => number, truth: (x: number) => bigint): number {
  return Math.max(...points.map((x) => ulpError(got(x), truth(x))));
}

const tiny = [1e-300, -1e-300, 1e-17, -1e-17, 1e-9, -1e-9, 1e-5, -1e-5, 0.001, -0.001];

describe('elementary functions are within an ulp or two of the truth', () => {
  it('exp', () => {
    const points = [...spread(-700, 700), ...spread(-1, 1), ...tiny];
    expect(worst(points, exp, (x) => exactExp(fixed(x)))).toBeLessThanOrEqual(1);
  });

  it('log', () => {
    const points = [...spread(0, 4), ...spread(0, 1e6), 1e-300, 1e300, 1 + 2 ** -52, 1 - 2 ** -53, 0.999, 1.001];
    expect(worst(points, log, (x) => exactLog(fixed(x), Math.log(x)))).toBeLessThanOrEqual(1);
  });

  it('log1p', () => {
    const points = [...spread(-0.99, 5), ...spread(-0.01, 0.01), ...tiny.slice(2)];
    expect(worst(points, log1p, exactLog1p)).toBeLessThanOrEqual(1);
  });

  it('pow', () => {
    for (const y of [0.5, 2, -3, 0.1, 17.3, -40.7]) {
      expect(
        worst(
          spread(0.01, 30, 30),
          (x) => pow(x, y),
          (x) => exactPow(x, y),
        ),
      ).toBeLessThanOrEqual(1);
    }
  });

  it('sin and cos', () => {
    const points = [...spread(-100, 100), ...spread(-Math.PI, Math.PI), Math.PI, Math.PI / 2, 22, ...tiny.slice(2)];
    expect(worst(points, sin, (x) => exactSin(fixed(x)))).toBeLessThanOrEqual(1);
    expect(worst(points, cos, (x) => exactCos(fixed(x)))).toBeLessThanOrEqual(1);
  });

  it('tanh', () => {
    expect(worst([...spread(-22, 22), ...spread(-1, 1), ...tiny.slice(2)], tanh, exactTanh)).toBeLessThanOrEqual(2);
  });

  it('sigmoid', () => {
    const points = [...spread(-700, 40), ...spread(-5, 5), ...tiny];
    expect(worst(points, sigmoid, exactSigmoid)).toBeLessThanOrEqual(2);
  });
});

describe('special cases', () => {
  it('keeps to C99 Annex F', () => {
    expect([exp(Infinity), exp(-Infinity), exp(0), exp(1000), exp(-1000)]).toEqual([Infinity, 0, 1, Infinity, 0]);
    expect([log(0), log(1), log(Infinity), log(-1)]).toEqual([-Infinity, 0, Infinity, Number.NaN]);
    expect([log1p(-1), log1p(-0), log1p(-2)]).toEqual([-Infinity, -0, Number.NaN]);
    expect([pow(0, 0), pow(-2, 3), pow(-2, 0.5), pow(0, -1)]).toEqual([1, -8, Number.NaN, Infinity]);
    expect([sin(-0), sin(Infinity), cos(0), cos(Number.NaN)]).toEqual([-0, Number.NaN, 1, Number.NaN]);
    expect([tanh(-0), tanh(Infinity), tanh(-Infinity), tanh(Number.NaN)]).toEqual([-0, 1, -1, Number.NaN]);
    expect([sigmoid(0), sigmoid(800), sigmoid(-800), sigmoid(Number.NaN)]).toEqual([0.5, 1, 0, Number.NaN]);
    expect([sigmoid(Infinity), sigmoid(-Infinity)]).toEqual([1, 0]);
  });
});

describe('the bits never change', () => {
  const bits = (x: number): string => {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, x);
    return view.getBigUint64(0).toString(16).padStart(16, '0');
  };
  const points = [-36.7, -1.5, -0.3, 1e-9, 0.1, 0.7, 1, 2.5, 19.9, 355];

  it.each(Object.entries({ exp, log, log1p, sin, cos, tanh, sigmoid }))('%s', (name, of) => {
    const domain = name === 'log' || name === 'log1p' ? points.filter((x) => x > 0) : points;
    expect(domain.map((x) => `${x} ${bits(of(x))}`)).toMatchSnapshot();
  });

  it('pow', () => {
    expect(points.map((x) => bits(pow(Math.abs(x), 1.7)))).toMatchSnapshot();
  });
});
