// Which track gets which detection: the cheapest one-to-one pairing, exact, for the few dozen rows of a frame.
// Shortest augmenting paths after Crouse, "On implementing 2D rectangular assignment algorithms", IEEE T-AES 52(4),
// 2016 (the rectangular form of Jonker and Volgenant, 1987).

/** Costs of all pairs: Float64[rows, columns], row by row; a longer array is allowed. */
export interface CostTable {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
}

/** Holds buffers, so one serves many frames. */
export interface Assigner {
  /**
   * Pairs rows with columns so that the sum of `cost - limit` over the pairs is least; only pairs whose cost is below
   * the limit are made.
   * @returns Int32, per row the column or -1; memory of the assigner, valid until the next call
   */
  solve(costs: CostTable, limit: number): Int32Array;
}

export function createAssigner(): Assigner {
  let search = allocate(0, 0);
  let columnOfRow = new Int32Array(0);
  return {
    solve(costs, limit) {
      const { rows, columns } = costs;
      const [few, many] = rows <= columns ? [rows, columns] : [columns, rows];
      if (search.priceOfFew.length < few || search.priceOfMany.length < many) search = allocate(few, many);
      if (columnOfRow.length < rows) columnOfRow = new Int32Array(2 * rows);
      loadGains(search, costs, limit);
      for (let row = 0; row < few; row++) augment(search, row, many);
      readPairs(columnOfRow, search, costs);
      return columnOfRow;
    },
  };
}

/** One side has at most as many members as the other: `few` and `many`, whatever they are called outside. */
interface Search {
  /** Float64[few, many], cost - limit, and 0 where that is not below: as good as no pair. */
  readonly gains: Float64Array;
  readonly priceOfFew: Float64Array;
  readonly priceOfMany: Float64Array;
  readonly manyOfFew: Int32Array;
  readonly fewOfMany: Int32Array;
  /** Of the search under way: length of the shortest path to each, and whence it comes. */
  readonly distance: Float64Array;
  readonly from: Int32Array;
  readonly settled: Uint8Array;
  readonly reached: Uint8Array;
}

function allocate(few: number, many: number): Search {
  const [fewSize, manySize] = [Math.max(64, 2 * few), Math.max(64, 2 * many)];
  return {
    gains: new Float64Array(fewSize * manySize),
    priceOfFew: new Float64Array(fewSize),
    priceOfMany: new Float64Array(manySize),
    manyOfFew: new Int32Array(fewSize),
    fewOfMany: new Int32Array(manySize),
    distance: new Float64Array(manySize),
    from: new Int32Array(manySize),
    settled: new Uint8Array(manySize),
    reached: new Uint8Array(fewSize),
  };
}

function loadGains(search: Search, { rows, columns, values }: CostTable, limit: number): void {
  const { gains, priceOfFew, priceOfMany, manyOfFew, fewOfMany } = search;
  const many = Math.max(rows, columns);
  const turned = rows > columns;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let gain = values[row * columns + column]! - limit;
      // A complete pairing of gains that are cut at 0 holds the best incomplete one: pairs of 0 are dropped afterwards.
      if (!(gain < 0)) gain = 0; // also where it is no number
      gains[turned ? column * many + row : row * many + column] = gain;
    }
  }
  priceOfFew.fill(0);
  priceOfMany.fill(0);
  manyOfFew.fill(-1);
  fewOfMany.fill(-1);
}

/** Pairs one more member of the few, moving others along the shortest augmenting path. */
function augment(search: Search, start: number, many: number): void {
  const { gains, priceOfFew, priceOfMany, fewOfMany, distance, from, settled, reached } = search;
  distance.fill(Number.POSITIVE_INFINITY, 0, many);
  settled.fill(0, 0, many);
  reached.fill(0);
  let length = 0;
  let end = -1;
  for (let few = start; end < 0; ) {
    reached[few] = 1;
    let nearest = -1;
    let least = Number.POSITIVE_INFINITY;
    for (let place = 0; place < many; place++) {
      if (settled[place] === 1) continue;
      const reduced = length + gains[few * many + place]! - priceOfFew[few]! - priceOfMany[place]!;
      if (reduced < distance[place]!) {
        distance[place] = reduced;
        from[place] = few;
      }
      // A free one ends the search, so it goes before others that are as near.
      if (distance[place]! < least || (distance[place] === least && fewOfMany[place] === -1)) {
        least = distance[place]!;
        nearest = place;
      }
    }
    length = least;
    settled[nearest] = 1;
    if (fewOfMany[nearest] === -1) end = nearest;
    else few = fewOfMany[nearest]!;
  }
  raisePrices(search, start, length, many);
  turnPath(search, start, end);
}

function raisePrices(search: Search, start: number, length: number, many: number): void {
  const { priceOfFew, priceOfMany, manyOfFew, distance, settled, reached } = search;
  for (let few = 0; few <= start; few++) {
    if (reached[few] === 0) continue;
    priceOfFew[few]! += few === start ? length : length - distance[manyOfFew[few]!]!;
  }
  for (let place = 0; place < many; place++) {
    if (settled[place] === 1) priceOfMany[place]! -= length - distance[place]!;
  }
}

function turnPath({ manyOfFew, fewOfMany, from }: Search, start: number, end: number): void {
  for (let place = end; ; ) {
    const few = from[place]!;
    const before = manyOfFew[few]!;
    fewOfMany[place] = few;
    manyOfFew[few] = place;
    if (few === start) return;
    place = before;
  }
}

function readPairs(
  target: Int32Array,
  { gains, manyOfFew, fewOfMany }: Search,
  { rows, columns }: CostTable,
): void {
  const turned = rows > columns;
  const many = Math.max(rows, columns);
  for (let row = 0; row < rows; row++) {
    const column = turned ? fewOfMany[row]! : manyOfFew[row]!;
    const gain = column < 0 ? 0 : gains[turned ? column * many + row : row * many + column]!;
    target[row] = gain < 0 ? column : -1;
  }
}
