/** Where the machines of a simulated cluster have their files. */
export const CHECKPOINTS_DIR = '/checkpoints';

/** Of the pserver whose folder it is in. */
export const indexOfPath = (path: string): number | undefined => {
  const [, index] = /^\/checkpoints\/(\d+)(?:\/|$)/.exec(path) ?? [];
  return index === undefined ? undefined : Number(index);
};
