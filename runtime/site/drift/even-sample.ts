// A bounded sample that is spread evenly over however much comes: what is kept of an hour, or of a parked car's day.

export class EvenSample<T> {
  readonly #capacity: number;
  readonly #kept: T[] = [];
  #every = 1;
  #seen = 0;

  /** @param capacity 2 or more; between half of it and all of it is kept once that much has come */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** All that came, also what was not kept. */
  get seen(): number {
    return this.#seen;
  }

  get kept(): readonly T[] {
    return this.#kept;
  }

  /** Every second one of the kept goes when they are too many, and from then on every second one that comes. */
  add(item: T): void {
    const place = this.#seen++;
    if (place % this.#every !== 0) return;
    if (this.#kept.length === this.#capacity) {
      for (let index = 0; 2 * index < this.#kept.length; index++)
        this.#kept[index] = this.#kept[2 * index] as T;
      this.#kept.length = Math.ceil(this.#kept.length / 2);
      this.#every *= 2;
      if (place % this.#every !== 0) return;
    }
    this.#kept.push(item);
  }

  clear(): void {
    this.#kept.length = 0;
    this.#every = 1;
    this.#seen = 0;
  }
}
