// What the ground looks like at any place: asphalt with its marks, kerbs, paving, grass.
import { type Colour, mixed, paint, scaled } from './colour.ts';
import { chanceOf, valueNoise } from './random.ts';
import { kerbAt, PARKING_METRES, roadHalf, type Street, ZEBRA_METRES } from './street.ts';

/** Writes the reflectance at `s`, `d` into `into`. `blurMetres` is how much ground a sample covers. */
export type GroundPainter = (into: Float64Array, s: number, d: number, blurMetres: number) => void;

const MARKING = paint(0xd8d6cc);
const KERB = paint(0xb3b0a8);
const GRASS = paint(0x4c6a35);
const SOIL = paint(0x6e6350);
const BIKE_LANE = paint(0x8a4a3c);

export function createGroundPainter(street: Street): GroundPainter {
  const edges = edgesOf(street);
  const seed = street.camera * 101;
  const far = street.isGreen ? GRASS : mixed(street.paving, SOIL, 0.4);
  return (into, s, d, blurMetres) => {
    const kerb = d < 0 ? edges.kerbLeft : edges.kerbRight;
    const across = Math.abs(d);
    const detail = 1 / (1 + blurMetres * 6);
    const grain = (valueNoise(s * 9, d * 9, seed) - 0.5) * 0.34 * detail;
    const cloud = (valueNoise(s * 0.35, d * 0.5, seed + 1) - 0.5) * 0.3;
    if (across < kerb) {
      paintRoad(into, street, edges, s, d, seed);
      scaleInto(into, 1 + grain + cloud);
    } else if (across < kerb + 0.22) {
      set(into, KERB, 1 + grain);
    } else if (across < kerb + street.pavement) {
      set(into, street.paving, 1 + grain + cloud + jointShade(s, d) * detail + tileShade(s, d, seed));
    } else {
      set(into, far, 1 + grain * 1.6 + cloud * 1.6);
    }
  };
}

interface Edges {
  readonly half: number;
  readonly kerbLeft: number;
  readonly kerbRight: number;
  readonly laneStart: number;
  readonly laneEnd: number;
}

function edgesOf(street: Street): Edges {
  const laneStart = street.median / 2;
  return {
    half: roadHalf(street),
    kerbLeft: kerbAt(street, -1),
    kerbRight: kerbAt(street, 1),
    laneStart,
    laneEnd: laneStart + street.lanesPerSide * street.laneWidth,
  };
}

function paintRoad(into: Float64Array, street: Street, edges: Edges, s: number, d: number, seed: number) {
  const across = Math.abs(d);
  if (street.median > 0 && across < street.median / 2) {
    if (across > street.median / 2 - 0.15) set(into, KERB, 1);
    else set(into, street.isGreen ? GRASS : street.paving, 0.9);
    return;
  }
  const mark = markShare(street, edges, s, d);
  // Paint is worn where wheels roll.
  const worn = mark * (0.72 + 0.28 * valueNoise(s * 2.2, d * 3, seed + 2));
  const onBikeLane = street.hasBikeLane && across > edges.laneEnd + 0.1 && across < edges.half;
  const asphalt = onBikeLane ? mixed(street.asphalt, BIKE_LANE, 0.55) : street.asphalt;
  const colour = mark > 0 ? mixed(asphalt, MARKING, worn) : asphalt;
  set(into, colour, roadShade(street, edges, s, across, seed) + (mark > 0 ? 0.1 : 0));
}

/** Darker tracks, oil in the middle of lanes, mended patches. */
function roadShade(street: Street, edges: Edges, s: number, across: number, seed: number): number {
  const lane = (across - edges.laneStart) / street.laneWidth;
  const inLane = lane - Math.floor(lane);
  const tracks = across < edges.laneEnd ? -0.09 * Math.cos((inLane - 0.5) * 4 * Math.PI) : 0;
  const oil = across < edges.laneEnd ? -0.1 * Math.max(0, 1 - Math.abs(inLane - 0.5) * 7) : 0;
  const cell = chanceOf(Math.floor(s / 5.5), Math.floor(across / 2.3), seed + 3);
  const patch = cell < 0.07 ? -0.24 : cell > 0.95 ? 0.16 : 0;
  const crack = Math.abs(valueNoise(s * 0.5, across * 1.4, seed + 4) - 0.5) < 0.008 ? -0.35 : 0;
  return 1 + tracks + oil + patch + crack;
}

/** 1 on paint, 0 beside it. */
function markShare(street: Street, edges: Edges, s: number, d: number): number {
  const across = Math.abs(d);
  const alongZebra = s - street.zebraAt;
  if (alongZebra > -0.1 && alongZebra < ZEBRA_METRES && across < edges.half - 0.1) {
    return modulo(d, 1) < 0.5 ? 1 : 0;
  }
  const stopLine =
    alongZebra > -2 && alongZebra < -1.6 ? d > 0 : alongZebra > 5.2 && alongZebra < 5.6 && d < 0;
  if (stopLine && across < edges.laneEnd && across > edges.laneStart + 0.2) return 1;
  if (street.median === 0 && across < 0.18) {
    return street.lanesPerSide > 1 ? (across > 0.06 ? 1 : 0) : across < 0.07 && modulo(s, 6) < 3 ? 1 : 0;
  }
  for (let lane = 1; lane < street.lanesPerSide; lane++) {
    const line = edges.laneStart + lane * street.laneWidth;
    if (Math.abs(across - line) < 0.07 && modulo(s, 9) < 3.6) return 1;
  }
  if (Math.abs(across - edges.laneEnd) < 0.08) return street.hasBikeLane || modulo(s, 4) < 2.6 ? 1 : 0;
  return bayMark(street, edges, s, d);
}

/** The marks between parked cars. */
function bayMark(street: Street, edges: Edges, s: number, d: number): number {
  if (!street.hasParking[d < 0 ? 0 : 1]) return 0;
  const into = Math.abs(d) - edges.half;
  if (into < 0.1 || into > PARKING_METRES - 0.2) return 0;
  return modulo(s + 3, 6) < 0.12 ? 0.8 : 0;
}

function jointShade(s: number, d: number): number {
  return modulo(s, 0.9) < 0.05 || modulo(d, 0.6) < 0.04 ? -0.25 : 0;
}

function tileShade(s: number, d: number, seed: number): number {
  return (chanceOf(Math.floor(s / 0.9), Math.floor(d / 0.6), seed + 5) - 0.5) * 0.12;
}

function modulo(value: number, period: number): number {
  return value - Math.floor(value / period) * period;
}

function set(into: Float64Array, colour: Colour, factor: number): void {
  const [red, green, blue] = scaled(colour, factor);
  into[0] = red;
  into[1] = green;
  into[2] = blue;
}

function scaleInto(into: Float64Array, factor: number): void {
  into[0]! *= factor;
  into[1]! *= factor;
  into[2]! *= factor;
}
