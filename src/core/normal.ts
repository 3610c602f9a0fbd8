// The normal law's tail, which JavaScript's Math lacks.

/** P(Z >= z) of a standard normal, relative error below 1e-12 down to 1e-300. */
export function normalTail(z: number): number {
  if (Number.isNaN(z)) return Number.NaN;
  if (z < 0) return 1 - normalTail(-z);
  if (z > 40) return 0;
  return z < 2.5 ? 0.5 - centralMass(z) : density(z) * millsRatio(z);
}

function density(z: number): number {
  return Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
}

/** P(0 <= Z <= z) by the all-positive series density(z) * (z + z³/3 + z⁵/(3·5) + ...). */
function centralMass(z: number): number {
  let term = z;
  let sum = z;
  for (let odd = 3; term > sum * 1e-17; odd += 2) {
    term *= (z * z) / odd;
    sum += term;
  }
  return density(z) * sum;
}

/** Tail over density as Laplace's continued fraction 1/(z + 1/(z + 2/(z + ...))), read from the far end. */
function millsRatio(z: number): number {
  let fraction = z;
  for (let term = 120; term >= 1; term--) fraction = z + term / fraction;
  return 1 / fraction;
}
