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


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "websockets"])
def test_a_package_that_is_not_there(package):
    program = f"import sys; sys.modules['{package}'] = None; import halfmove.cli; "
    program += "sys.exit(halfmove.cli.main(['web', '--no-browser', '--port', '0']))"
    found = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60
    )
    assert found.returncode == 1
    assert f"the page needs {package}" in found.stderr
    assert "Traceback" not in found.stderr
    assert found.stdout == ""


def test_a_runs_folder_that_is_not_there(tmp_path, serve):
    home = serve(tmp_path / "nowhere")
    assert ask(home, "/api/watch/runs")[1]["runs"] == []
    assert ask(home, "/watch")[0] == 200
    table = ask(home, "/api/tables", {"game": "tic_tac_toe", "seats": ["person", "person"]})[1]
    assert ask(home, f"/api/tables/{table['id']}/move", {"action": 4})[0] == 200


def test_a_runs_folder_that_is_a_file(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["web", "--no-browser", "--port", "0", "--runs", str(tmp_path / "file")]) == 1
    assert "is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"), [("gtp:no-such-program", "there is no program"), ("gnugo", "'gnugo'")]
)
def test_an_engine_that_is_none(capsys, tmp_path, line, said):
    arguments = ["web", "--no-browser", "--port", "0", "--runs", str(tmp_path), "--engine", line]
    assert main(arguments) == 1
    assert said in capsys.readouterr().err


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


def started(tmp_path, port):
    """A server on that port, once it answers, and its address."""
    command = [sys.executable, "-m", "halfmove.cli", "web", "--no-browser", "--port", str(port)]
    server = subprocess.Popen(
        [*command, "--runs", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    home = server.stdout.readline().split()[-1].rstrip("/")
    for _ in range(600):
        try:
            ask(home, "/")
            break
        except OSError:
            time.sleep(0.1)
    return server, home


@pytest.mark.slow  # waits for the page to come back
def test_a_page_goes_on_with_a_server_that_was_killed_and_started_again(tmp_path, visit):
    sync_api = pytest.importorskip("playwright.sync_api")
    server, home = started(tmp_path, 0)
    try:
        seats = {"game": "tic_tac_toe", "seats": ["person", "person"]}
        page = visit(f"{home}/play/{ask(home, '/api/tables', seats)[1]['id']}")
        page.locator('[data-place="4"]').click(force=True)
        sync_api.expect(page.locator("#moves button")).to_have_count(1)
        time.sleep(2.5)  # it is written down within a second
        page.locator('[data-place="0"]').click(force=True)
        sync_api.expect(page.locator("#moves button")).to_have_count(2)
        server.kill()
        server.wait()
        page.click("#undo")
        sync_api.expect(page.locator("#said")).to_contain_text("does not answer")
        server, again = started(tmp_path, int(home.rpartition(":")[2]))
        assert again == home
        # The second move may be lost with the server; what is shown is what the server knows.
        page.wait_for_timeout(2500)
        known = ask(home, f"/api/tables/{page.url.rpartition('/')[2]}")[1]["moves"]
        sync_api.expect(page.locator("#moves button")).to_have_count(len(known))
        page.locator('[data-place="8"]').click(force=True)
        sync_api.expect(page.locator("#moves button")).to_have_count(len(known) + 1)
    finally:
        server.kill()
        server.wait()
