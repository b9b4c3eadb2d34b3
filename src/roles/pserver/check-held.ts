import { PaddletError } from '../../base/errors.ts';

/** `Suspended` while the lease is not certainly held: asked at a request, and again after everything it waits for. */
export function checkHeld({ isHeld }: { readonly isHeld: () => boolean }): void {
  if (!isHeld()) throw new PaddletError('Suspended', 'this pserver is cut off from the store');
}
