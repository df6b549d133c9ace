"""A server with the interface of Amazon S3 in this process: moto's, in front of which requests can be changed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from residualplanner.ground.stores import Bucket

BUCKET = "curator"


@contextmanager
def s3_server(*, ignores_conditions: bool = False) -> Iterator[Callable[[str], Bucket]]:
    """A running server; gives a function that makes a store of a prefix.

    Args:
        ignores_conditions: it overwrites objects whatever the request says, as some object stores do.
    """
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = DomainDispatcherApplication(create_backend_app)

    def changed(environment: dict[str, Any], start: Any) -> Any:
        if ignores_conditions:
            environment.pop("HTTP_IF_NONE_MATCH", None)
        return application(environment, start)

    server = make_server("127.0.0.1", 0, changed, threaded=True, request_handler=_quiet())
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        settings = (
            ("endpoint", endpoint),
            ("region", "us-east-1"),
            ("access_key_id", "test"),
            ("secret_access_key", "secret-of-the-test"),
        )
        _make_bucket(endpoint)
        yield lambda prefix: Bucket(f"s3://{BUCKET}/{prefix}".rstrip("/"), settings)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _make_bucket(endpoint: str) -> None:
    from urllib.request import Request, urlopen

    with urlopen(Request(f"{endpoint}/{BUCKET}", method="PUT")):
        pass


def _quiet() -> type:
    """A handler of requests that writes no log."""
    from werkzeug.serving import WSGIRequestHandler

    class Quiet(WSGIRequestHandler):
        def log(self, *_arguments: Any, **_options: Any) -> None:
            """Nothing."""

    return Quiet
