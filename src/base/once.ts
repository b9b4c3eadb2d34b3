/** Makes a value when it is first asked for, and then keeps it: schemas take time and memory, and few are used. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
