/** States what the programmer believes to be true. A failure is a bug: it crashes and is never caught or answered. */
export function assert(condition: unknown, belief: string): asserts condition {
  if (!condition) throw new AssertionError(belief);
}

/** For the `default` of a switch over a closed union: the compiler refuses it when a case is missing. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}

export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}
