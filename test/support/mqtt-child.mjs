// A program with a site on a broker that stays until it is killed. From the built package, as a user's program would.
import { createMqttSink } from '../../dist/runtime/site/sinks/mqtt/mqtt-sink.js';

const [url] = process.argv.slice(2);
const sink = createMqttSink({
  mqtt: { url, topicPrefix: 'edge', clientId: 'edge-child' },
  classNames: ['car'],
  onNotice: (message) => process.stderr.write(`${message}\n`),
});
sink.start({
  cameras: [
    { name: 'gate', state: 'live', enabled: true, frames: 0, dropped: 0, reconnects: 0, objects: [] },
  ],
  waiting: 0,
  setEnabled: () => true,
  useCamera: () => true,
  camera: (name) => ({
    name,
    zones: [],
    thresholds: { base: 0.3, classes: new Map(), conditions: new Map() },
  }),
});
sink.accept({ kind: 'count', atMs: 0, camera: 'gate', place: 'gate', className: 'car', count: 3 });
setInterval(() => undefined, 1000);
