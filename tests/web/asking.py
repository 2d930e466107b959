"""Questions to a server that runs, with nothing but the standard library."""

import http.client
import json
import time
import urllib.parse


def ask(address, path, body=None, *, method=None, headers=None, raw=None):
    """(status, JSON or text, headers) of one request; `body` is sent as JSON, `raw` as it is."""
    where = urllib.parse.urlsplit(address)
    line = http.client.HTTPConnection(where.hostname, where.port, timeout=120)
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    try:
        line.request(method or ("GET" if data is None else "POST"), path, data, headers or {})
        answer = line.getresponse()
        text = answer.read()
    finally:
        line.close()
    if answer.headers.get_content_type() == "application/json":
        return answer.status, json.loads(text), answer.headers
    return answer.status, text.decode(errors="replace"), answer.headers


def until(address, id, enough, *, seconds=60):
    """The table as soon as `enough(table)`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        table = ask(address, f"/api/tables/{id}")[1]
        if enough(table):
            return table
        time.sleep(0.02)
    raise AssertionError(f"nothing has come of it: {table}")
