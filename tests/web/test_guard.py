"""Who is let in, and how much they may send."""

import contextlib
import socket
import urllib.parse

import pytest

from halfmove.web.answers import LARGEST
from halfmove.web.settings import Settings, loopback
from tests.web.asking import ask

TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture(scope="module")
def home(serve, tmp_path_factory):
    return serve(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def abroad(serve, tmp_path_factory):
    """As with `--host`, but here it listens on loopback all the same."""
    return serve(tmp_path_factory.mktemp("runs"), host="0.0.0.0", token=TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"])
def test_loopback(host):
    assert loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "", "127.0.0.1.x"])
def test_elsewhere_a_token_is_needed(host):
    assert not loopback(host)
    with pytest.raises(ValueError, match="token"):
        Settings(host=host)
    assert Settings(host=host, token=TOKEN).token == TOKEN


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.168.0.7", ""])
def test_a_name_that_is_not_this_machine_gets_nothing(home, host):
    status, said, _ = ask(home, "/api/games", headers={"Host": host})
    assert status == 403
    assert "own machine" in said["error"]


def test_its_own_names_are_answered(home):
    port = home.rpartition(":")[2]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):
        assert ask(home, "/api/games", headers={"Host": host})[0] == 200


def test_pages_of_others_change_nothing(home):
    body = {"game": "tic_tac_toe", "seats": ["person", "person"]}
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "http://[", "file://"):
        assert ask(home, "/api/tables", body, headers={"Origin": origin})[0] == 403
    assert ask(home, "/api/tables", body, headers={"Origin": home})[0] == 201


def test_too_much_is_not_read(home):
    status, said, _ = ask(home, "/api/tables", raw=b" " * (LARGEST + 1))
    assert status == 413
    assert "too large" in said["error"]
    lots = {"Content-Length": "99999999999999999999999"}
    assert ask(home, "/api/tables", raw=b"{}", headers=lots)[0] in (400, 413)


def test_what_comes_in_pieces_is_counted(home):
    where = urllib.parse.urlsplit(home)
    with socket.create_connection((where.hostname, where.port), timeout=20) as line:
        line.sendall(
            b"POST /api/tables HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        with contextlib.suppress(OSError):  # it may have been refused by now
            for _ in range(LARGEST // 65536 + 2):
                line.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
        assert b" 413 " in line.recv(100)


def test_browsers_are_told_to_run_nothing_from_elsewhere(home):
    _, text, headers = ask(home, "/")
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "http" not in text.replace("http-equiv", "")  # no address of another server


def test_a_token_comes_once_and_is_kept_in_a_cookie(abroad):
    assert ask(abroad, "/")[0] == 401
    assert ask(abroad, "/static/style.css")[0] == 401
    assert ask(abroad, "/?token=wrong")[0] == 401
    status, _, headers = ask(abroad, f"/play?token={TOKEN}&x=1")
    assert (status, headers["location"]) == (303, "/play?x=1")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert ask(abroad, "/api/games", headers={"Cookie": cookie.partition(";")[0]})[0] == 200
    assert ask(abroad, "/api/games", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
    for wrong in ("halfmove_token=", "halfmove_token=x", "\u00e4", "a" * 5000):
        assert ask(abroad, "/api/games", headers={"Cookie": wrong})[0] == 401


def test_a_token_leads_nowhere_else(abroad):
    for path in (f"//evil.example/?token={TOKEN}", f"/%2F%2Fevil.example?token={TOKEN}"):
        status, _, headers = ask(abroad, path)
        assert status == 303
        assert headers["location"].startswith("/")
        assert not headers["location"].startswith("//")


@pytest.mark.parametrize(
    "path",
    ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py",
     "/static/%2e%2e%2f%2e%2e%2f__init__.py", "/static//etc/passwd", "/play/../../x/..",
     "/api/tables/..%2f..%2fx", "/api/tables/%00", "/nothing"],
)  # fmt: skip
def test_nothing_outside_is_served(home, path):
    status, said, _ = ask(home, path)
    assert status == 404
    assert "error" in said
