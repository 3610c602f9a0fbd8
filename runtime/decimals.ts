// Numbers as they are written and sent: more digits than a sensor has would only fill the disk.

/** The nearest number with so many digits behind the point. */
export function toDecimals(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}
