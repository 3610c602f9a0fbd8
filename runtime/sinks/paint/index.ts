// Painting detections into frames.
export { createPainter, type Painter, type PainterOptions } from './painter.ts';
