/**
 * Tests run as on a machine that lets a process address little. Kernel memory that never grows is all that can be
 * addressed, up to 4 GB, and the engine looks through all of its own memory after each of them that is made: in some
 * 0.1 s of processor time, for each of the hundreds of models that tests make.
 */
const MOST_PAGES = 128;

WebAssembly.Memory = new Proxy(WebAssembly.Memory, {
  construct(memory, [descriptor]: ConstructorParameters<typeof WebAssembly.Memory>) {
    if (descriptor.initial > MOST_PAGES)
      throw new RangeError(`more than ${MOST_PAGES} pages are not addressed in tests`);
    return new memory(descriptor);
  },
});
