import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import { LIMITS } from '../../../../src/base/limits.ts';
import { landInParameters } from '../../../../src/roles/pserver/requests/landing.ts';
import type { Staging } from '../../../../src/tensor/parameters.ts';

const MiB = 1024 * 1024;

function staged(byteLength: number): Staging {
  return { byteLength, bytes: () => new Uint8Array(0), onMoved: () => {}, arrived: () => {}, free: () => {} };
}

describe('payloads of requests to a pserver', () => {
  it('land in kernel memory, the small ones not', () => {
    const allocate = landInParameters(() => ({ stage: staged }));
    expect(allocate(MiB)?.byteLength).toBe(MiB);
    expect(allocate(1000)).toBeUndefined();
  });

  it('land elsewhere until the shards are loaded, and when kernel memory is full', () => {
    expect(landInParameters(() => undefined)(MiB)).toBeUndefined();
    const full = {
      stage: (): Staging => {
        throw new PaddletError('OutOfMemory', 'full');
      },
    };
    expect(landInParameters(() => full)(MiB)).toBeUndefined();
  });

  it('take a bounded part of it, which they give back', () => {
    const allocate = landInParameters(() => ({ stage: staged }));
    const largest = allocate(LIMITS.frameBytes);
    expect(largest).toBeDefined();
    expect(allocate(MiB)).toBeUndefined();
    largest?.free();
    expect(allocate(MiB)).toBeDefined();
  });
});
