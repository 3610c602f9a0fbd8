// How long a live source waits before it tries again.

/** Short enough that a camera which comes back within minutes is seen again within 3 s. */
const FIRST_MS = 500;
const LONGEST_MS = 1000;
/** After so many failures in a row (about ten minutes) nobody waits at the screen. */
const PATIENT_AFTER = 600;
/** Cameras lock an account after a handful of wrong passwords, so a login that never worked soon slows down. */
const REFUSED_PATIENT_AFTER = 4;
/**
 * A camera that took this login before and refuses it now is most often starting up: about a minute of quick tries more.
 * Where the password was changed, a slower pace would not have kept the account from being locked either.
 */
const ONCE_TAKEN_PATIENT_AFTER = 60;
const PATIENT_MS = 15_000;
/** A decoder needs half of it to start on a busy machine; twice it and a key frame are still within 3 s. */
const LEAST_ANSWER_MS = 1000;
const PATIENT_TRY = 10;
/** Between the end of a try and the next one, however long that try took. */
const LEAST_PAUSE_MS = 250;

export type LoginTrouble = 'refused' | 'once-taken';
const LOGIN_PATIENT_AFTER: Readonly<Record<LoginTrouble, number>> = {
  refused: REFUSED_PATIENT_AFTER,
  'once-taken': ONCE_TAKEN_PATIENT_AFTER,
};

/**
 * @param failures tries in a row without a frame, this one included; 1 or more
 * @param login `refused`: the camera refused user or password; `once-taken`: and it took them before in this run
 * @param triedMs what the try itself took, where it waited in vain: that much less is waited now
 * @param random in [0, 1): spreads the tries of many cameras by ±25 %
 */
export function retryDelayMs(
  failures: number,
  login: LoginTrouble | undefined,
  random: number,
  triedMs = 0,
): number {
  const patientAfter = login === undefined ? PATIENT_AFTER : LOGIN_PATIENT_AFTER[login];
  const base = failures > patientAfter ? PATIENT_MS : Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
  return Math.round(Math.max(Math.min(base, LEAST_PAUSE_MS), base * (0.75 + 0.5 * random) - triedMs));
}

/**
 * A camera that hangs takes a connection and never answers. One that answered in `usualMs` before is given three times
 * that, and is then asked again; every tenth try it is given all the time, in case it has become slow.
 * @param failures tries in a row without a frame
 * @param startLimitMs that a first picture may take
 * @returns ms until the camera must have answered; undefined where none was heard before
 */
export function answerLimitMs(
  usualMs: number | undefined,
  failures: number,
  startLimitMs: number,
): number | undefined {
  if (usualMs === undefined) return undefined;
  return failures % PATIENT_TRY === PATIENT_TRY - 1
    ? startLimitMs
    : Math.min(startLimitMs, Math.max(LEAST_ANSWER_MS, 3 * usualMs));
}
