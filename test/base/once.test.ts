import { expect, it, vi } from 'vitest';
import { once } from '../../src/base/once.ts';

it('makes the value when it is first asked for, and only then', () => {
  const make = vi.fn(() => undefined);
  const value = once(make);
  expect(make).not.toHaveBeenCalled();
  expect(value()).toBeUndefined();
  expect(value()).toBeUndefined();
  expect(make).toHaveBeenCalledTimes(1);
});
