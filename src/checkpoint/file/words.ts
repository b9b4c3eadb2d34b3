/** The bytes of an array as 32-bit words. */
export const wordsOf = (array: ArrayBufferView): Uint32Array =>
  new Uint32Array(array.buffer, array.byteOffset, array.byteLength / 4);
