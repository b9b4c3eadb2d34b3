/**
 * Returns arrays of any length in memory that is reused, because allocating and clearing fresh memory is slow. Each
 * call ends the view of the call before. A view contains old values.
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
