// Pearson's and Spearman's correlation.

export function pearson(a: ArrayLike<number>, b: ArrayLike<number>): number | null {
  const [meanA, meanB] = [meanOf(a), meanOf(b)];
  let [both, ofA, ofB] = [0, 0, 0];
  for (let place = 0; place < a.length; place++) {
    const [x, y] = [a[place]! - meanA, b[place]! - meanB];
    both += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  return ofA > 0 && ofB > 0 ? both / Math.sqrt(ofA * ofB) : null;
}

/** Pearson's of the ranks; equal values share the mean of their ranks. */
export function spearman(a: ArrayLike<number>, b: ArrayLike<number>): number | null {
  return pearson(ranksOf(a), ranksOf(b));
}

function meanOf(values: ArrayLike<number>): number {
  let sum = 0;
  for (let place = 0; place < values.length; place++) sum += values[place]!;
  return sum / values.length;
}

function ranksOf(values: ArrayLike<number>): Float64Array {
  const order = Array.from({ length: values.length }, (_, place) => place);
  order.sort((a, b) => values[a]! - values[b]! || a - b);
  const ranks = new Float64Array(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from + 1;
    while (to < order.length && values[order[to]!] === values[order[from]!]) to++;
    for (let place = from; place < to; place++) ranks[order[place]!] = (from + to - 1) / 2;
    from = to;
  }
  return ranks;
}
