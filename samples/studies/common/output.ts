// Where a study writes: results to stdout, progress to stderr.

export function say(line: string): void {
  console.error(line);
}

export function print(line: string): void {
  console.log(line);
}
