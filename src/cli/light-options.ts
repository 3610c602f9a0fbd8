// Options of `stream` for thresholds that follow the light.
import type { OptionSpec } from './options.ts';

const STREAM: OptionSpec['commands'] = ['stream'];

export const LIGHT_OPTIONS: readonly OptionSpec[] = [
  {
    key: 'light',
    type: 'string',
    choices: ['auto', 'sun'],
    defaultText: 'not followed',
    help: 'say the state of the light, and let thresholds= follow it: auto measures the picture, sun takes lat= and lon=',
    commands: STREAM,
  },
  {
    key: 'light_every',
    type: 'number',
    min: 0,
    max: 3600,
    defaultText: '1',
    help: 'light: seconds of the stream between two measurements',
    commands: STREAM,
  },
  {
    key: 'lat',
    aliases: ['latitude'],
    type: 'number',
    min: -90,
    max: 90,
    help: 'light=sun, by=sun: latitude of the camera in degrees, north positive',
    commands: [...STREAM, 'compare'],
  },
  {
    key: 'lon',
    aliases: ['longitude'],
    type: 'number',
    min: -180,
    max: 180,
    help: 'light=sun, by=sun: longitude of the camera in degrees, east positive',
    commands: [...STREAM, 'compare'],
  },
  {
    key: 'start_time',
    type: 'string',
    help: 'light=sun: when a video begins, with its zone: 2021-03-20T18:30:00+08:00; cameras are now',
    commands: STREAM,
  },
];
