/** What oclif asks of the operating system about the user, and paddlet does not need. */

/** `HOME` is a folder that does not exist, so that nothing is read from it. */
const VARIABLES: Readonly<Record<string, string>> = { SHELL: 'sh', HOME: '/paddlet' };

/**
 * Runs `load` with the variables that the environment lacks. Without them oclif asks for the user's entry in the
 * password database, and fails in containers whose uid has none.
 */
export async function withoutUser<T>(load: () => Promise<T>): Promise<T> {
  const missing = Object.keys(VARIABLES).filter((name) => (process.env[name] ?? '') === '');
  const before = missing.map((name) => [name, process.env[name]] as const);
  for (const name of missing) process.env[name] = VARIABLES[name];
  try {
    return await load();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}
