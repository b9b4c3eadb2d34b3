/**
 * Memory that is used again: arrays of any length, views of the longest one so far. Fresh memory would cost as much as
 * what is done with it. A view is valid until the next one is taken, and has what was left in it.
 */
export function reused<A extends { readonly length: number; subarray(from: number, to: number): A }>(
  make: (length: number) => A,
): (length: number) => A {
  let room = make(0);
  return (length) => {
    if (room.length < length) room = make(length);
    return room.subarray(0, length);
  };
}
