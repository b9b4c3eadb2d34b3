/** What users may have meant by a name that is missing. */
import { distance } from 'fastest-levenshtein';

export function nearName(name: string, names: readonly string[]): string | undefined {
  const near = names
    .map((text) => ({ text, far: distance(text.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.far - b.far)[0];
  const isNear = near !== undefined && near.far <= Math.max(1, name.length / 3) && near.far < name.length;
  return isNear ? near.text : undefined;
}
