/** In place of a command: the process is a thread of `paddlet predict`. No command line has it. */
export const THREAD_WORD = 'thread-of-predict';
