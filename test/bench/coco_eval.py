"""The twelve numbers of pycocotools and how long they take: what `npm run bench evaluate` compares with.

usage: coco_eval.py annotations.json results.json
       prints {"evaluateMs", "cpuMs", "loadMs", "stats"}; the first two are those of evaluate + accumulate + summarize,
       without reading files
"""
import contextlib
import io
import json
import sys
import time

from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

with contextlib.redirect_stdout(io.StringIO()):
    start = time.perf_counter()
    truth = COCO(sys.argv[1])
    found = truth.loadRes(sys.argv[2])
    loaded, loaded_cpu = time.perf_counter(), time.process_time()
    evaluation = COCOeval(truth, found, "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    done, done_cpu = time.perf_counter(), time.process_time()
figures = {"evaluateMs": done - loaded, "cpuMs": done_cpu - loaded_cpu, "loadMs": loaded - start}
print(json.dumps({**{name: 1000 * value for name, value in figures.items()}, "stats": evaluation.stats.tolist()}))
