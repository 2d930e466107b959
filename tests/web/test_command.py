"""`halfmove web` as a person starts it."""

import signal
import subprocess
import sys
import time

import pytest

from halfmove.cli import main
from halfmove.web.command import listening, where
from halfmove.web.settings import Settings
from tests.web.asking import ask


def test_it_says_where_it_is_serves_and_ends(tmp_path):
    command = [sys.executable, "-m", "halfmove.cli", "web", "--no-browser", "--port", "0"]
    elsewhere = ["--runs", str(tmp_path), "--host", "0.0.0.0", "--token", "open-sesame"]
    server = subprocess.Popen(
        [*command, *elsewhere], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        address = server.stdout.readline().split()[-1]
        assert address.endswith("/?token=open-sesame")
        home = address.partition("/?")[0]
        for _ in range(600):
            try:
                status = ask(home, "/")[0]
                break
            except OSError:
                time.sleep(0.1)
        assert status == 401
        assert ask(home, "/", headers={"Authorization": "Bearer open-sesame"})[0] == 200
        server.send_signal(signal.SIGINT)
        rest = server.communicate(timeout=30)[0]
        assert "Traceback" not in rest
        assert server.returncode in (0, 130)
    finally:
        server.kill()
        server.wait()


def test_a_port_that_is_taken(capsys):
    with listening("127.0.0.1", 0) as ear:
        port = ear.getsockname()[1]
        assert main(["web", "--no-browser", "--port", str(port)]) == 1
    assert f"cannot serve on 127.0.0.1 port {port}" in capsys.readouterr().err


def test_an_engine_that_is_none(capsys, tmp_path):
    arguments = ["web", "--no-browser", "--port", "0", "--runs", str(tmp_path), "--engine", "gnugo"]
    assert main(arguments) == 1
    assert "'gnugo'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        (Settings(port=80), "http://127.0.0.1:80/"),
        (Settings(host="::1", port=80), "http://[::1]:80/"),
        (Settings(host="0.0.0.0", port=80, token="x"), "http://127.0.0.1:80/?token=x"),
        (Settings(host="::", port=80, token="x"), "http://[::1]:80/?token=x"),
    ],
)
def test_the_address_to_open(settings, address):
    assert where(settings) == address
