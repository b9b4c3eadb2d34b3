/**
 * Options of Node that are part of the executable. V8 lets the young generation of a process grow to 128 MB, step by
 * step, over minutes or hours, when much is allocated and dropped at once, as the wire does. With at most 32 MB paddlet
 * is as fast.
 */
export const ENGINE_OPTIONS: readonly string[] = ['--max-semi-space-size=16'];
