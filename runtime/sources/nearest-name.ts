// Finds the name that a user most likely meant.

/** The nearest of these names, or undefined where none is near. */
export function nearestName(wanted: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let smallest = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const name of names) {
    const distance = editDistance(wanted.toLowerCase(), name.toLowerCase());
    if (distance < smallest) {
      smallest = distance;
      nearest = name;
    }
  }
  return nearest;
}

/** Letters to insert, delete or replace (Levenshtein). */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
