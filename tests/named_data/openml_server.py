"""A server on this machine that speaks OpenML's protocol, well or badly."""

import hashlib
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class OpenMLServer:
    """Data sets by id; ``faults`` says how many requests for a description or a file go wrong, and how."""

    def __init__(self):
        self.descriptions = {}
        self.files = {}
        self.requests = []
        self.faults = {"description": [], "file": []}
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        # Polled often, because every test waits for the end of its server.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def root(self):
        host, port = self._server.server_address[:2]
        return f"http://{host}:{port}"

    @property
    def address(self):
        """What FCCA_OPENML is set to."""
        return f"{self.root}/api/v1/json"

    def add(self, data_id, name, arff, *, target="class", **more):
        content = arff if isinstance(arff, bytes) else arff.encode()
        self.files[str(data_id)] = content
        self.descriptions[str(data_id)] = {
            "id": str(data_id),
            "name": name,
            "version": "1",
            "format": "ARFF",
            "url": f"{self.root}/data/v1/download/{data_id}/{name}.arff",
            "default_target_attribute": target,
            "md5_checksum": hashlib.md5(content).hexdigest(),
            **more,
        }

    def fail(self, what, fault, times=1000):
        self.faults[what] = [fault] * times

    def count(self, what):
        return self.requests.count(what)

    def start(self):
        self._thread.start()

    def stop(self):
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _handler(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                parts = self.path.strip("/").split("/")
                what = "description" if self.path.startswith("/api/") else "file"
                outer.requests.append(what)
                fault = outer.faults[what].pop(0) if outer.faults[what] else None
                if what == "description":
                    known = outer.descriptions.get(parts[-1])
                    content = None if known is None else json.dumps({"data_set_description": known}).encode()
                else:
                    content = outer.files.get(parts[-2])
                if content is None:
                    # OpenML's own way to say that there is no such data set.
                    return self.answer(b'{"error": {"code": "111", "message": "Unknown dataset"}}', status=412)
                return self.misbehave(fault, content) if fault else self.answer(content)

            def misbehave(self, fault, content):
                if isinstance(fault, int):
                    self.answer(b"<html>no</html>", status=fault)
                elif fault == "truncated":
                    self.answer(content[: len(content) // 2], length=len(content))
                elif fault == "reset":
                    self.close_connection = True
                    self.connection.close()
                elif fault == "damaged":
                    self.answer(content[:-10] + b"X" * 10)
                elif fault == "no json":
                    self.answer(b"<html>maintenance</html>")
                elif fault == "silent":
                    outer.released.wait(10)
                elif fault == "silent in the middle":
                    self.answer(content[: len(content) // 2], length=len(content), stay=True)
                elif fault == "trickle":
                    self.head(200, len(content))
                    for byte in content:
                        if outer.released.is_set():
                            break
                        self.wfile.write(bytes([byte]))
                        time.sleep(0.02)
                else:
                    raise AssertionError(fault)

            def head(self, status, length):
                self.send_response(status)
                self.send_header("Content-Length", str(length))
                self.end_headers()

            def answer(self, content, *, status=200, length=None, stay=False):
                self.head(status, len(content) if length is None else length)
                self.wfile.write(content)
                if stay:
                    self.wfile.flush()
                    outer.released.wait(10)

            def handle_one_request(self):
                try:
                    super().handle_one_request()
                except OSError:  # the client was tired of waiting
                    self.close_connection = True

            def log_message(self, *_):
                pass

        return Handler


@contextmanager
def openml_server():
    server = OpenMLServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()


def write_arff(columns, *, sparse=False, comments=False):
    """ARFF text of (name, type, cells); the type is ``numeric`` or a list of classes."""

    def quoted(value):
        return f"'{value}'" if set(str(value)) & set(" ,{}%'") else str(value)

    lines = ["% made for a test", "@RELATION 'some table'", ""] if comments else ["@relation table"]
    for name, kind, _ in columns:
        lines.append(
            f"@ATTRIBUTE {quoted(name)} {kind if isinstance(kind, str) else '{' + ','.join(map(quoted, kind)) + '}'}"
        )
    lines.append("@DATA")
    for row in zip(*(cells for _, _, cells in columns), strict=True):
        texts = ["?" if cell is None or cell != cell else quoted(cell) for cell in row]
        if sparse:
            kept = [f"{j} {text}" for j, text in enumerate(texts) if text != _left_out(columns[j][1], quoted)]
            lines.append("{" + ", ".join(kept) + "}")
        else:
            lines.append(",".join(texts))
    return "\n".join([*lines, *(["%", "%"] if comments else [])]) + "\n"


def _left_out(kind, quoted):
    return "0.0" if isinstance(kind, str) else quoted(kind[0])
