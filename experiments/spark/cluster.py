# SPDX-License-Identifier: Apache-2.0
"""A standalone cluster of Spark on the loopback of this machine: a master, and workers of one processor
each, who know each other by a secret and encrypt what they send; ended with the script.

    python experiments/spark/cluster.py [--workers 2]

It prints where Spark runs, for the plan's `spark_master`, and which SPARK_CONF_DIR to set.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

SETTINGS = """\
spark.authenticate true
spark.authenticate.secret {secret}
spark.network.crypto.enabled true
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.log.level ERROR
spark.worker.cleanup.enabled true
"""
SILENT = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    """Until somebody listens there, a minute at most."""
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    sys.exit("the master of the cluster does not start; see whether Java 17 runs here.")


@contextmanager
def standalone(folder: Path, workers: int = 2):
    """Where Spark runs, and what must be in the environment of who asks it; all of it in a private
    folder, which is removed.
    """
    import pyspark

    folder.mkdir(mode=0o700)
    conf = folder / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(SETTINGS.format(secret=os.urandom(32).hex()))
    (conf / "log4j2.properties").write_text(SILENT)
    home = Path(pyspark.__path__[0])
    environment = {
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
    }
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    started = []

    def start(name: str, *words: str, **more: str) -> None:
        with (folder / f"{name}.log").open("w") as log:
            started.append(
                subprocess.Popen(
                    [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *words],
                    env=os.environ | environment | more,
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                )
            )

    try:
        start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        wait_for(port)
        for number in range(workers):
            place = folder / f"worker-{number}"
            place.mkdir(mode=0o700)
            words = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "2g"]
            start(
                "worker.Worker",
                *words,
                "--work-dir",
                str(place),
                master,
                SPARK_LOCAL_DIRS=str(place),
            )
        yield master, environment
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def run() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = standalone(Path(name) / "cluster", options.workers)
        with place as (master, environment):
            print(f"spark_master = {master!r}")
            for key in ("SPARK_CONF_DIR", "SPARK_LOCAL_IP"):
                print(f"export {key}={environment[key]}", flush=True)
            input("Enter ends it.\n")


if __name__ == "__main__":
    run()
