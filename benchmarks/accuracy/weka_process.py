"""Train Weka's classifiers in a Java machine of one jar; requests and answers are JSON lines.

python -m benchmarks.accuracy.weka_process weka.jar

Two jars cannot share a process, so that each of them has its own.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def train_and_predict(request: dict[str, Any]) -> dict[str, Any]:
    """Return the posteriors of the tested rows and the processor seconds of this thread."""
    import jpype

    utils = jpype.JClass("weka.core.Utils")
    options = jpype.JArray(jpype.JString)(request["options"])
    base = jpype.JClass("weka.classifiers.Classifier")
    train, test = (_read_rows(request[name]) for name in ("train", "test"))
    model = jpype.JObject(utils.forName(base, request["classifier"], options), base)
    started = time.thread_time()
    model.buildClassifier(train)
    fitted = time.thread_time()
    posteriors = [
        [float(share) for share in model.distributionForInstance(test.instance(row))]
        for row in range(test.numInstances())
    ]
    ended = time.thread_time()
    return {"posteriors": posteriors, "fit": fitted - started, "predict": ended - fitted}


def _read_rows(path: str) -> Any:
    import jpype

    reader = jpype.JClass("java.io.FileReader")(path)
    rows = jpype.JClass("weka.core.Instances")(reader)
    rows.setClassIndex(rows.numAttributes() - 1)
    return rows


def main() -> None:
    """Answer requests until the input ends."""
    import jpype

    out, sys.stdout = sys.stdout, sys.stderr  # nothing but answers may go to the pipe
    jpype.startJVM("-Xmx1g", "-XX:+UseSerialGC", classpath=[sys.argv[1]])
    null = jpype.JClass("java.io.PrintStream")(
        jpype.JClass("java.io.OutputStream").nullOutputStream()
    )
    jpype.java.lang.System.setOut(null)
    jpype.java.lang.System.setErr(null)
    for line in sys.stdin:
        try:
            answer = train_and_predict(json.loads(line))
        except Exception as error:  # Java's exceptions, too
            answer = {"failed": str(error)}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
