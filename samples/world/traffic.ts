// Who is in the street at a moment. Each lane is a belt of slots that moves at one speed; what a slot holds follows
// from its number, so that any moment is known without those before it, and light plays no part in it.

import { bayAt, isBayTaken, shelterAt } from './furniture.ts';
import { chanceOf, createDraws, hash } from './random.ts';
import { kerbAt, PARKING_METRES, roadHalf, type Street, ZEBRA_METRES } from './street.ts';

export const CLASS_NAMES = ['car', 'lorry', 'bus', 'bike', 'person'] as const;
export type ClassName = (typeof CLASS_NAMES)[number];

export interface Actor {
  /** The same thing keeps its number from frame to frame. */
  readonly id: number;
  readonly className: ClassName;
  /** Decides its looks. */
  readonly seed: number;
  readonly s: number;
  readonly d: number;
  /** Against the road's heading, clockwise. */
  readonly turnRadians: number;
  readonly speed: number;
}

interface Lane {
  readonly kind: 'vehicles' | 'bikes' | 'walkers';
  readonly d: number;
  /** 1 along the road, −1 against it. */
  readonly direction: number;
  readonly speed: number;
  readonly spacing: number;
  /** Share of slots that are taken. */
  readonly occupancy: number;
  readonly seed: number;
}

export interface Traffic {
  readonly street: Street;
  readonly seed: number;
  readonly lanes: readonly Lane[];
}

const NEAREST_METRES = -18;
const FARTHEST_METRES = 92;

export function createTraffic(street: Street, seed: number): Traffic {
  const draws = createDraws(hash(street.camera, seed, 11));
  const lanes: Lane[] = [];
  const isBusy = draws.chance(0.3);
  for (const side of [1, -1]) {
    const speed = isBusy ? draws.between(1.5, 4) : draws.between(6, 12);
    for (let lane = 0; lane < street.lanesPerSide; lane++) {
      lanes.push({
        kind: 'vehicles',
        d: side * (street.median / 2 + (lane + 0.5) * street.laneWidth),
        direction: side,
        speed: speed * draws.between(0.85, 1.15),
        spacing: isBusy ? draws.between(14, 16) : draws.between(17, 27),
        occupancy: isBusy ? draws.between(0.6, 0.9) : draws.between(0.3, 0.65),
        seed: hash(seed, lanes.length, 1),
      });
    }
    const edge = street.hasBikeLane ? roadHalf(street) - 0.8 : roadHalf(street) - 0.5;
    lanes.push({
      kind: 'bikes',
      d: side * edge,
      direction: side,
      speed: draws.between(3.5, 6),
      spacing: draws.between(9, 16),
      occupancy: street.hasBikeLane ? draws.between(0.3, 0.55) : 0.14,
      seed: hash(seed, lanes.length, 2),
    });
    addWalkways(lanes, street, side, seed);
  }
  return { street, seed, lanes };
}

function addWalkways(lanes: Lane[], street: Street, side: number, seed: number): void {
  const draws = createDraws(hash(street.camera, seed, 12, side));
  const rows = street.pavement > 3.6 ? 3 : 2;
  for (let row = 0; row < rows; row++) {
    lanes.push({
      kind: 'walkers',
      d: side * (kerbAt(street, side) + 1 + ((street.pavement - 1.9) * (row + 0.2)) / rows),
      direction: draws.pick([-1, 1]),
      speed: draws.between(0.9, 1.6),
      spacing: draws.between(5, 10),
      occupancy: draws.between(0.14, 0.36),
      seed: hash(seed, lanes.length, 3),
    });
  }
}

export function actorsAt(traffic: Traffic, timeSeconds: number): readonly Actor[] {
  const actors: Actor[] = [];
  traffic.lanes.forEach((lane, index) => {
    addLane(actors, lane, index, timeSeconds);
  });
  for (const side of [-1, 1]) addParked(actors, traffic, side);
  addWaiting(actors, traffic);
  addCrossing(actors, traffic, timeSeconds);
  return actors;
}

function addLane(actors: Actor[], lane: Lane, laneIndex: number, timeSeconds: number): void {
  const { spacing, direction } = lane;
  const [low, high] = direction > 0 ? [NEAREST_METRES, FARTHEST_METRES] : [-FARTHEST_METRES, -NEAREST_METRES];
  const travelled = lane.speed * timeSeconds;
  const first = Math.floor((low - travelled) / spacing);
  const last = Math.ceil((high - travelled) / spacing);
  for (let slot = first; slot <= last; slot++) {
    if (!isTaken(lane, slot)) continue;
    const className = classOf(lane, slot);
    const room = lane.kind === 'vehicles' ? spacing - ROOM_METRES[className] : spacing - 2;
    const jitter = Math.max(0, room) * (chanceOf(lane.seed, slot, 5) - 0.5);
    const sway =
      lane.kind === 'vehicles' ? 0.5 * Math.sin(timeSeconds * 0.4 + chanceOf(lane.seed, slot, 6) * 6.28) : 0;
    const aside = (chanceOf(lane.seed, slot, 7) - 0.5) * (lane.kind === 'vehicles' ? 0.5 : 0.4);
    const actor: Actor = {
      id: laneIndex * 100_000 + modulo(slot, 50_000) * 2,
      className,
      seed: hash(lane.seed, slot, 8),
      s: direction * (slot * spacing + travelled + jitter + sway),
      d: lane.d + aside,
      turnRadians: direction > 0 ? 0 : Math.PI,
      speed: lane.speed,
    };
    actors.push(actor);
    // Some walk in pairs.
    if (lane.kind === 'walkers' && chanceOf(lane.seed, slot, 9) < 0.3) {
      actors.push({ ...actor, id: actor.id + 1, seed: actor.seed + 1, d: actor.d + 0.62, s: actor.s + 0.15 });
    }
  }
}

const ROOM_METRES: Readonly<Record<ClassName, number>> = {
  car: 7,
  lorry: 15.5,
  bus: 14.5,
  bike: 4,
  person: 2,
};

/** Taken slots come in groups, as traffic lights make them. */
function isTaken(lane: Lane, slot: number): boolean {
  const group = chanceOf(lane.seed, Math.floor(slot / 4), 3);
  return chanceOf(lane.seed, slot, 4) < lane.occupancy * (0.5 + group);
}

function classOf(lane: Lane, slot: number): ClassName {
  if (lane.kind !== 'vehicles') return lane.kind === 'bikes' ? 'bike' : 'person';
  const chance = chanceOf(lane.seed, slot, 2);
  if (chance < 0.58) return 'car';
  if (chance < 0.79) return 'lorry';
  return chance < 0.93 ? 'bus' : 'bike';
}

function addParked(actors: Actor[], { street, seed }: Traffic, side: number): void {
  if (!street.hasParking[side < 0 ? 0 : 1]) return;
  for (let bay = -2; bay < 15; bay++) {
    const s = bayAt(bay);
    const isOnZebra = s + 3 > street.zebraAt - 2 && s - 3 < street.zebraAt + ZEBRA_METRES + 1;
    const isFree = chanceOf(seed, side + 2, bay, 21) > 0.5;
    if (isOnZebra || isFree || isBayTaken(street, side, bay)) continue;
    const look = hash(seed, side + 2, bay, 22);
    const isTurned = look % 11 === 0;
    actors.push({
      id: 4_000_000 + (side + 1) * 1000 + bay + 2,
      className: 'car',
      seed: look,
      s: s + (chanceOf(look, 1) - 0.5) * 0.7,
      d: side * (roadHalf(street) + PARKING_METRES / 2 + (chanceOf(look, 2) - 0.5) * 0.25),
      turnRadians: side > 0 === isTurned ? Math.PI : 0,
      speed: 0,
    });
  }
}

/** People who stand: at the shelter, and in twos where they met. */
function addWaiting(actors: Actor[], { street, seed }: Traffic): void {
  const draws = createDraws(hash(seed, street.camera, 31));
  for (const side of [-1, 1]) {
    const count = draws.integer(5);
    const meeting = draws.chance(0.5) ? shelterAt(street) + 1 : draws.between(8, 45);
    for (let i = 0; i < count; i++) {
      actors.push({
        id: 5_000_000 + (side + 1) * 1000 + i,
        className: 'person',
        seed: hash(seed, side + 2, i, 32),
        s: meeting + i * 0.8 + draws.between(-0.3, 0.3),
        d: side * (kerbAt(street, side) + street.pavement * draws.between(0.5, 0.75)),
        turnRadians: draws.between(0, 2 * Math.PI),
        speed: 0,
      });
    }
  }
}

const CROSSING_PERIOD_SECONDS = 11;
const CROSSING_SPEED = 1.35;

/** People on the zebra crossing; they start only where no vehicle would reach them. */
function addCrossing(actors: Actor[], traffic: Traffic, timeSeconds: number): void {
  const { street, seed } = traffic;
  const [left, right] = [-kerbAt(street, -1) - 0.8, kerbAt(street, 1) + 0.8];
  const width = right - left;
  const now = Math.floor(timeSeconds / CROSSING_PERIOD_SECONDS);
  for (let period = now - 3; period <= now; period++) {
    const direction = hash(seed, period, 41) % 2 === 0 ? 1 : -1;
    const count = 1 + (hash(seed, period, 42) % 3);
    const start = period * CROSSING_PERIOD_SECONDS + chanceOf(seed, period, 43) * 3;
    const walked = (timeSeconds - start) * CROSSING_SPEED;
    if (chanceOf(seed, period, 44) > 0.75 || walked < 0 || walked > width) continue;
    if (isInTheWay(traffic, { start, direction, from: direction > 0 ? left : right })) continue;
    for (let i = 0; i < count; i++) {
      actors.push({
        id: 6_000_000 + modulo(period, 10_000) * 4 + i,
        className: 'person',
        seed: hash(seed, period, i, 45),
        s: street.zebraAt + 0.6 + i * 1.1,
        d: (direction > 0 ? left : right) + direction * Math.max(0, walked - i * 0.4),
        turnRadians: (direction * Math.PI) / 2,
        speed: CROSSING_SPEED,
      });
    }
  }
}

interface Crossing {
  readonly start: number;
  readonly direction: number;
  readonly from: number;
}

function isInTheWay({ street, lanes }: Traffic, crossing: Crossing): boolean {
  return lanes.some((lane, index) => {
    if (lane.kind === 'walkers') return false;
    const reached = crossing.start + Math.abs(lane.d - crossing.from) / CROSSING_SPEED;
    for (let time = reached - 1.3; time <= reached + 1.8; time += 0.4) {
      const inLane: Actor[] = [];
      addLane(inLane, lane, index, time);
      const reach = (actor: Actor) => ROOM_METRES[actor.className] / 2 + 2.6;
      if (inLane.some((actor) => Math.abs(actor.s - street.zebraAt - 1.8) < reach(actor))) return true;
    }
    return false;
  });
}

function modulo(value: number, period: number): number {
  return value - Math.floor(value / period) * period;
}
