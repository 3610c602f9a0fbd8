// Numbers as the tables of the command line have them.

/** `-` where there is nothing to measure. */
export function fixed(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined || Number.isNaN(value) ? '-' : value.toFixed(digits);
}
