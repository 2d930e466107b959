"""Programs that behave badly: what they are found guilty of, and that nothing of them stays."""

import os
import shlex
import signal
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmove import games
from halfmove.arena.engines import Engine, EngineFault, child
from halfmove.arena.engines.child import Child
from tests.arena.engines import fakes, parrot

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

GO = games.make("go", size=5)


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch):
    monkeypatch.setattr(child, "POLITE_S", 0.3)
    before, threads = fakes.ours(), threading.active_count()
    yield
    assert fakes.gone(fakes.ours() - before), "a process was left behind"
    assert threading.active_count() == threads


def until(seconds):
    return time.monotonic() + seconds


def whole(player):
    """The answer to a move in a new game."""
    player.new_game(GO)
    player.play(0)
    return GO.move_name(None, player.choose())


# behaviour, settings, reason, a part of the text
FAULTS = [
    ("exit@start", "", "crash", "status 3 at 'list_commands'; its error output: no weights / nei"),
    ("exit@genmove", "", "crash", "'genmove white'"),
    ("segfault@genmove", "", "crash", "SIGSEGV"),
    ("segfault@play", "", "crash", "'play black A5'"),
    ("close@genmove", "", "crash", "closed its output"),
    ("deaf@play", "patience=1.5", "hang", "no answer in time"),
    ("hang@start", "patience=1.5", "hang", "'list_commands'"),
    ("hang@genmove", "patience=1.5", "hang", "'genmove white'"),
    ("mutter@genmove", "patience=1.5", "hang", "one moment"),
    ("slow@genmove", "seconds=0.5", "time", "'genmove white'"),
    ("endless@genmove", "", "rubbish", "bytes without an answer"),
    ("binary@genmove", "patience=2", "rubbish", "genmove"),
    ("lines@genmove", "", "rubbish", "without end"),
    ("babble@genmove", "", "rubbish", "I would rather not"),
    ("+@genmove", "", "rubbish", "''"),
    ("+_banana@genmove", "", "rubbish", "'banana'"),
    ("+_A1_B2@genmove", "", "rubbish", "'a1 b2'"),
    ("+_Z9@genmove", "", "illegal", "A1 to E5"),
    ("+_A5@genmove", "", "illegal", "not legal in (;GM[1]"),
    ("-_cannot@genmove", "", "refused", "? cannot"),
    ("-_illegal_move@play", "", "refused", "? illegal move"),
    ("-_unacceptable_size@boardsize", "", "refused", "'boardsize 5'"),
]


@pytest.mark.parametrize(("behaviour", "settings", "reason", "text"), FAULTS)
def test_a_fault_has_a_reason_and_the_next_game_goes_on(
    behaviour, settings, reason, text, tmp_path
):
    line = fakes.gtp(tmp_path / "log", f"once:{behaviour}", settings=settings)
    with Engine(line) as player:
        with pytest.raises(EngineFault) as caught:
            whole(player)
        assert caught.value.reason == reason
        assert text in str(caught.value)
        assert len(caught.value.text) < 3000
        assert caught.value.text.isprintable()
        with pytest.raises(RuntimeError, match="new_game"):
            player.choose()
        if reason in ("illegal", "refused"):  # it still runs, and is asked again
            assert player.starts == 1
            with pytest.raises(EngineFault, match=reason):
                whole(player)
            player._drop()
        assert whole(player) == "A1"
        assert player.starts == 2


@pytest.mark.parametrize("behaviour", ["chatter@start", "shout@start", "shout@genmove"])
def test_what_is_not_an_answer_is_no_fault(behaviour, tmp_path):
    with Engine(fakes.gtp(tmp_path / "log", behaviour)) as player:
        player.new_game(GO)
        assert GO.move_name(None, player.choose()) == "A1"


def test_an_answer_that_nobody_asked_for_is_forgotten(tmp_path):
    with Engine(fakes.gtp(tmp_path / "log", "twice@komi")) as player:
        player.new_game(GO)
        time.sleep(0.1)
        player.play(GO.parse_move(None, "A1"))
        assert GO.move_name(None, player.choose()) == "B1"


@pytest.mark.parametrize("end", ["close", "crash", "hang"])
def test_processes_of_a_process_end_with_it(end, tmp_path):
    rules = {"close": [], "crash": ["exit@genmove"], "hang": ["hang@genmove"]}[end]
    log = tmp_path / "log"
    with Engine(fakes.gtp(log, "fork@komi", *rules, settings="patience=1")) as player:
        player.new_game(GO)
        pids = [int(word) for word in (tmp_path / "log.pids").read_text().split()]
        assert len(pids) == 3
        assert not any(fakes.gone([pid], 0.02) for pid in pids)
        if end != "close":
            with pytest.raises(EngineFault, match=end):
                player.choose()
            assert fakes.gone(pids)
    assert fakes.gone(pids)


@pytest.mark.parametrize("behaviour", ["stay@quit", "hang@quit", "endless@quit", "deaf@quit"])
def test_a_program_that_will_not_go_is_ended(behaviour, tmp_path):
    player = Engine(fakes.gtp(tmp_path / "log", behaviour))
    player.new_game(GO)
    pids = fakes.ours()
    assert len(pids) >= 2
    began = time.monotonic()
    player.close()
    assert time.monotonic() - began < 4
    assert fakes.gone(pids, 0.1)
    player.close()  # once more does no harm
    with pytest.raises(RuntimeError, match="was closed"):
        player.new_game(GO)
    assert not fakes.ours() & pids


def test_a_polite_program_is_asked_and_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "POLITE_S", 60.0)
    player = Engine(fakes.gtp(tmp_path / "log"))
    player.new_game(GO)
    began = time.monotonic()
    player.close()
    assert time.monotonic() - began < 10
    assert fakes.said(tmp_path / "log")[-1] == "quit"


def test_close_from_another_thread_ends_the_waiting(tmp_path):
    player = Engine(fakes.gtp(tmp_path / "log", "hang@genmove"))
    player.new_game(GO)
    faults = []

    def choose():
        try:
            player.choose()
        except EngineFault as fault:
            faults.append(fault)

    thread = threading.Thread(target=choose)
    thread.start()
    time.sleep(0.2)
    began = time.monotonic()
    player.close()
    thread.join(5)
    assert time.monotonic() - began < 4
    assert [fault.reason for fault in faults] == ["crash"]


MASTER = """
import signal, sys, time
from halfmove.arena.engines.child import Child
# Tests that were started in the background ignore it, and so does all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
child = Child(sys.argv[1:])
child.say("komi 0", time.monotonic() + 10)
answer = child.line(time.monotonic() + 10)
child.say("genmove black", time.monotonic() + 10)
print(answer, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("how", "does"),
    # `stay` does not end when it is asked to, either.
    [(signal.SIGKILL, "stay"), (signal.SIGKILL, "hang"), (signal.SIGTERM, "hang"),
     (signal.SIGINT, "hang")],
)  # fmt: skip
def test_nothing_outlives_a_master_that_is_killed(how, does, tmp_path):
    program = [sys.executable, "-I", "-S", str(fakes.HERE / "fake_gtp.py"), str(tmp_path / "log")]
    master = subprocess.Popen(
        # It does not look at its input, which ends with the master.
        [sys.executable, "-c", MASTER, *program, "fork@komi", f"{does}@genmove"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert master.stdout.readline() == b"=\n"
    pids = fakes.below(master.pid)
    assert len(pids) >= 4  # the guard, the program, its two children
    master.send_signal(how)
    master.wait(10)
    master.stdout.close()
    assert fakes.gone(pids)


def test_the_program_dies_with_its_guard(tmp_path):
    program = Child([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
    while len(fakes.below(program._guard.pid)) < 1:
        time.sleep(0.01)
    pids = fakes.below(program._guard.pid)
    os.kill(program._guard.pid, signal.SIGKILL)
    assert fakes.gone(pids)
    program.close()


def test_the_thread_that_starts_a_program_may_end(tmp_path):
    """A signal at the parent's death would end it there: the system means the thread."""
    player = Engine(fakes.gtp(tmp_path / "log"))
    thread = threading.Thread(target=player.new_game, args=(GO,))
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert GO.move_name(None, player.choose()) == "A1"
    player.close()


def test_a_program_that_does_not_read_is_not_waited_for():
    program = Child([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
    with pytest.raises(EngineFault, match="hang"):
        program.say("x" * 1_000_000, until(0.3))
    program.close("quit")


def test_a_program_that_cannot_run(tmp_path):
    (tmp_path / "empty").write_text("")
    (tmp_path / "empty").chmod(0o755)
    program = Child([str(tmp_path / "nothing")])
    with pytest.raises(EngineFault, match=r"crash: nothing ended with status 127.*No such file"):
        program.line(until(5))
    program.close()
    with Engine(f"gtp:{tmp_path / 'empty'}") as player, pytest.raises(EngineFault, match="crash"):
        player.new_game(GO)


def test_signals_are_as_a_program_expects_them():
    """Python ignores SIGPIPE, and what is ignored stays so in the programs it starts."""
    program = Child(["/bin/sh", "-c", "kill -PIPE $$; echo alive"])
    with pytest.raises(EngineFault, match="SIGPIPE"):
        program.line(until(5))
    program.close()


SPEAK = "import os, sys; sys.stdin.readline(); os.write(1, bytes.fromhex(sys.argv[1]))"
BLOCKS = st.one_of(st.binary(max_size=40), st.sampled_from([b"= A1\n\n", b"=\n\n", b"\n"]))


@given(st.lists(BLOCKS))
@settings(max_examples=10)
def test_any_bytes(blocks):
    words = [sys.executable, "-I", "-S", "-c", SPEAK, b"".join(blocks).hex()]
    with Engine(f"gtp:{shlex.join(words)}") as player:
        assert parrot.converse(player, GO) in ("crash", "rubbish", "refused")
