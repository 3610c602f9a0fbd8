// How long a live source waits before it tries again.

/** Short enough that a camera which comes back within minutes is seen again within 3 s. */
const FIRST_MS = 500;
const LONGEST_MS = 1000;
/** After so many failures in a row (about ten minutes) nobody waits at the screen. */
const PATIENT_AFTER = 600;
/** Cameras lock an account after a handful of wrong passwords, so a refused login soon slows down. */
const REFUSED_PATIENT_AFTER = 4;
const PATIENT_MS = 15_000;

/**
 * @param failures tries in a row without a frame, this one included; 1 or more
 * @param refused the camera refused user or password
 * @param random in [0, 1): spreads the tries of many cameras by ±25 %
 */
export function retryDelayMs(failures: number, refused: boolean, random: number): number {
  const patientAfter = refused ? REFUSED_PATIENT_AFTER : PATIENT_AFTER;
  const base = failures > patientAfter ? PATIENT_MS : Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
  return Math.round(base * (0.75 + 0.5 * random));
}
