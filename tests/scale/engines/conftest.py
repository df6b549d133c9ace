"""Spark, started once, and Dask's workers in this process."""

import os
import shutil
import socket
import sys

import pytest
from distributed import Client


def free_port():
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="session")
def sessions():
    """A classic session, and one over Spark Connect to a server in the same Java machine."""
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java")
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    port = free_port()
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.driver.maxResultSize": "16m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # compiling less is faster for so little
        "spark.sql.shuffle.partitions": "2",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        classic = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
        remote = RemoteSession.builder.remote(f"sc://localhost:{port}").create()
        java = classic.sparkContext._gateway.proc
        yield {"classic": classic, "connect": remote}
        remote.stop()
        classic.stop()
        java.stdin.close()  # by which it knows that it is to end
        java.wait(timeout=60)


@pytest.fixture(scope="module")
def client():
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        yield client
