/** Where the machines of a simulated cluster have their files. */
export const CHECKPOINTS_DIR = '/checkpoints';
