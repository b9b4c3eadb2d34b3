/** Words in place of a command: the process is a thread of that command. No command line has them. */
export const THREAD_WORDS = { predict: 'thread-of-predict', trainer: 'thread-of-trainer' } as const;
export type ThreadWord = (typeof THREAD_WORDS)[keyof typeof THREAD_WORDS];
