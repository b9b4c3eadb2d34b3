import { expect, it, vi } from 'vitest';
import { message } from '../../../src/protocol/messages/fields.ts';

it('makes the schema of a request or a reply when it is first used', () => {
  const request = vi.fn(() => ({}));
  const reply = vi.fn(() => ({}));
  const made = message('asked', request, reply);
  expect(request).not.toHaveBeenCalled();
  expect(made.request.parse({ type: 'asked' })).toEqual({ type: 'asked' });
  expect(made.request).toBe(made.request);
  expect(request).toHaveBeenCalledTimes(1);
  expect(reply).not.toHaveBeenCalled();
});
