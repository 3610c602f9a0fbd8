// Tells a stream that is damaged for a while from one that lost a packet.

/** The errors of a decoder are looked at so often, ms. */
export const DAMAGE_SPAN_MS = 500;
/** Errors within a span that make it a bad one. */
const BAD_ERRORS = 2;
/** Spans in a row: bad ones that begin the trouble, good ones that end it. */
const BEGINS_AFTER = 4;
const ENDS_AFTER = 20;

export class DamageWatch {
  #errorsBefore = 0;
  #bad = 0;
  #good = 0;
  #isDamaged = false;

  /**
   * Once a span.
   * @param errors of the decoder since it started
   * @returns what an operator should know now; undefined: nothing new
   */
  look(errors: number): string | undefined {
    const isBad = errors - this.#errorsBefore >= BAD_ERRORS;
    this.#errorsBefore = errors;
    this.#bad = isBad ? this.#bad + 1 : 0;
    this.#good = isBad ? 0 : this.#good + 1;
    if (this.#isDamaged ? this.#good < ENDS_AFTER : this.#bad < BEGINS_AFTER) return undefined;
    this.#isDamaged = !this.#isDamaged;
    return this.#isDamaged
      ? 'the stream is damaged: the decoder finds errors all the time, and pictures are not to be believed'
      : 'the stream is whole again';
  }
}
