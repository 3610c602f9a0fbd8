// ONNX Runtime's Linux builds carry a telemetry client that leaves files in the temporary folder. This product has no
// telemetry, so it is switched off before the runtime is loaded.

/**
 * Must run on the main thread before a thread loads the runtime: what a worker writes into its own `process.env` never
 * reaches the native library. What the user has set stays.
 */
export function disableTelemetry(): void {
  process.env['ORT_DISABLE_TELEMETRY'] ??= '1';
}
