"""Says of every file named what the ONNX checker has against it: one line of JSON, {path: message or null}."""
import json
import sys

import onnx

faults = {}
for path in sys.argv[1:]:
    try:
        onnx.checker.check_model(path, full_check=True)
        faults[path] = None
    except Exception as error:  # the checker and shape inference each have their own
        faults[path] = str(error)
versions = {"onnx": onnx.__version__, "ir": onnx.IR_VERSION, "opset": onnx.defs.onnx_opset_version()}
json.dump({"versions": versions, "faults": faults}, sys.stdout)
