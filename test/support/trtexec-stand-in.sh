#!/bin/sh
# Stands in for NVIDIA's trtexec, a program that is not here: it takes the same words, refuses those that the version it
# plays would refuse, prints the lines that the real one prints, and writes files where it is told to. It builds nothing.
# STAND_IN_VERSION (digits as in the real banner), STAND_IN_GPU, STAND_IN_CC, STAND_IN_DOES: fail | nothing | hang | killed
version="${STAND_IN_VERSION:-100300}"
echo "&&&& RUNNING TensorRT.trtexec [TensorRT v$version] # $0 $*"
model='' engine='' timing='' workspace='' skip='' shapes=0
for word in "$@"; do
  case "$word" in
    --onnx=*) model="${word#--onnx=}" ;;
    --saveEngine=*) engine="${word#--saveEngine=}" ;;
    --timingCacheFile=*) timing="${word#--timingCacheFile=}" ;;
    --memPoolSize=workspace:[1-9]*) workspace=yes ;;
    --minShapes=* | --optShapes=* | --maxShapes=*) shapes=$((shapes + 1)) ;;
    --buildOnly) [ "$version" = 8502 ] || { echo "[E] Unknown option: --buildOnly"; exit 1; }; skip=yes ;;
    --skipInference) [ "$version" != 8502 ] || { echo "[E] Unknown option: --skipInference"; exit 1; }; skip=yes ;;
    --fp16 | --int8) [ "$version" -lt 100000 ] || { echo "[E] this stand-in wants typed graphs"; exit 1; } ;;
    --stronglyTyped) [ "$version" -ge 100000 ] || { echo "[E] Unknown option: --stronglyTyped"; exit 1; } ;;
    *) echo "[12/01/2026-10:00:00] [E] Unknown option: $word"; exit 1 ;;
  esac
done
if [ "$STAND_IN_GPU" = none ]; then
  echo "[12/01/2026-10:00:00] [E] Cuda failure: no CUDA-capable device is detected"
  exit 1
fi
echo "[12/01/2026-10:00:00] [I] === Device Information ==="
echo "[12/01/2026-10:00:00] [I] Selected Device: ${STAND_IN_GPU:-Orin}"
echo "[12/01/2026-10:00:00] [I] Compute Capability: ${STAND_IN_CC:-8.7}"
[ -f "$model" ] || { echo "[12/01/2026-10:00:00] [E] [TRT] Could not open file $model"; exit 1; }
[ -n "$engine" ] && [ -n "$timing" ] && [ -n "$workspace" ] && [ -n "$skip" ] || { echo "[E] a word is missing"; exit 1; }
[ "$shapes" = 0 ] || [ "$shapes" = 3 ] || { echo "[E] a profile needs min, opt and max"; exit 1; }
echo "[12/01/2026-10:00:00] [W] [TRT] onnx2trt_utils.cpp:374: Your ONNX model has been generated with INT64 weights."
echo "[12/01/2026-10:00:00] [W] [TRT] onnx2trt_utils.cpp:400: One or more weights outside the range of INT32 was clamped (INT64)"
echo "[12/01/2026-10:00:00] [W] [TRT] Some tactics do not have sufficient memory"
case "$STAND_IN_DOES" in
  fail) echo half >"$engine"; echo "[12/01/2026-10:00:00] [E] [TRT] 10: Could not find any implementation for node Conv_7" >&2; exit 1 ;;
  nothing) exit 0 ;;
  hang) echo half >"$engine"; echo "hanging $$"; sleep 60; exit 0 ;;
  killed) echo half >"$engine"; kill -9 $$ ;;
esac
echo timings >"$timing"
{ echo "engine of the stand-in, not of TensorRT"; cat "$model"; } >"$engine"
echo "&&&& PASSED TensorRT.trtexec [TensorRT v$version]"
