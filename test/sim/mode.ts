/** How the simulated job trains. */
export type Mode = 'async' | 'sync';
