/** What a frame is, and the byte that says so. */
export const KIND = { request: 1, reply: 2, error: 3, join: 4 } as const;
export type FrameKind = keyof typeof KIND;
