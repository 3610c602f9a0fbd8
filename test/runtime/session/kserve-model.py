# Runs the model.onnx beside it inside Triton, on ONNX Runtime's CPU provider.
import json
import os
import time

import numpy
import onnxruntime
import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        file = os.path.join(os.path.dirname(__file__), "model.onnx")
        self.session = onnxruntime.InferenceSession(file, options)
        config = json.loads(args["model_config"])
        self.delay = float(config["parameters"].get("delay_ms", {}).get("string_value", 0)) / 1000
        self.types = {
            output["name"]: triton.triton_string_to_numpy(output["data_type"]) for output in config["output"]
        }
        self.input = self.session.get_inputs()[0]

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        time.sleep(self.delay)
        pixels = triton.get_input_tensor_by_name(request, self.input.name).as_numpy()
        if "(float)" in self.input.type:
            pixels = pixels.astype(numpy.float32)
        names = list(request.requested_output_names())
        try:
            outputs = self.session.run(names, {self.input.name: pixels})
        except Exception as error:
            return triton.InferenceResponse(error=triton.TritonError(str(error).split("\n")[0]))
        tensors = [
            triton.Tensor(name, output.astype(self.types[name])) for name, output in zip(names, outputs)
        ]
        return triton.InferenceResponse(output_tensors=tensors)
