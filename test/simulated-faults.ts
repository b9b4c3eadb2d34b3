/** When a simulated disk or object store fails, or stops for good. */

export class DiskCrash extends Error {
  override readonly name = 'DiskCrash';
}

export const failure = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code });

export class SimulatedFaults {
  /** Operations so far that change or sync something. */
  operations = 0;
  isCrashed = false;
  #crash: { readonly operation: number; readonly when: 'before' | 'after' } | undefined;
  readonly #failures = new Map<string, string[]>();

  /** Stops everything at that operation (counted from 0), before it takes effect or just after. */
  crashAt(operation: number, when: 'before' | 'after'): void {
    this.#crash = { operation, when };
  }

  /** The next call of that kind fails with this code and does nothing. */
  failNext(call: string, code: string): void {
    this.#failures.set(call, [...(this.#failures.get(call) ?? []), code]);
  }

  /** Throws if the call is to fail. */
  check(call: string, path: string): void {
    if (this.isCrashed) throw new DiskCrash('the machine is off');
    const code = this.#failures.get(call)?.shift();
    if (code !== undefined) throw failure(code, path);
  }

  /** Counts an operation and runs it, unless the crash comes first. */
  operate<T>(call: string, path: string, act: () => T): T {
    const isLast = this.#crash?.operation === this.operations++;
    if (isLast) this.isCrashed = true;
    if (isLast && this.#crash?.when === 'before') throw new DiskCrash(`crashed at ${call} ${path}`);
    const result = act();
    if (isLast) throw new DiskCrash(`crashed after ${call} ${path}`);
    return result;
  }
}
