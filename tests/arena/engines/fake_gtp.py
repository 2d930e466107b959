"""A small engine of GTP or HTP that misbehaves as told; run as a script, without our package.

    fake_gtp.py LOG [BEHAVIOUR@COMMAND ...]

It writes every command to LOG. A behaviour happens at that command (`start` is before the
first); with `once:` before it, only if LOG was not there yet. `+_A1` is the answer `= A1`, and
`-_why` the answer `? why`. Otherwise it plays the points of the board in order, those that nobody
has played on.
"""

import os
import signal
import sys
import time

LETTERS = "ABCDEFGHJKLMNOPQRST"


def fork_away(log):
    """Leaves a grandchild in a session of its own that holds on to the pipes for ever."""
    for away in (False, True):
        if os.fork() == 0:
            if away:
                os.setsid()
                if os.fork():
                    os._exit(0)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            with open(log + ".pids", "a") as file:
                file.write(f"{os.getpid()}\n")
            time.sleep(600)
            os._exit(0)
    with open(log + ".pids", "a") as file:
        file.write(f"{os.getpid()}\n")
    while True:
        with open(log + ".pids") as file:
            if len(file.read().split()) == 3:
                return
        time.sleep(0.01)


def misbehave(how, log):
    write = sys.stdout.write
    if how == "exit":
        sys.stderr.write("no weights\nneither here nor there\n")
        sys.exit(3)
    elif how == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif how == "hang":
        time.sleep(600)
    elif how == "close":
        os.close(1)
        time.sleep(600)
    elif how == "deaf":
        os.close(0)
        time.sleep(600)
    elif how == "fork":
        fork_away(log)
    elif how == "stay":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)
    elif how == "endless":
        while True:
            write("x" * 65536)
    elif how == "binary":
        os.write(1, bytes(range(256)) * 20000)
        time.sleep(600)
    elif how == "lines":
        while True:
            write("= A1\n" * 1000)
    elif how == "shout":
        sys.stderr.write("the same again and again\n" * 100000)
        sys.stderr.flush()
    elif how == "mutter":
        end = time.monotonic() + 6
        while time.monotonic() < end:
            os.write(2, b"one moment\n" * 5000)
        sys.exit(1)
    elif how == "chatter":
        write("loading the network\n\nready\n")
    elif how == "twice":
        write("= A1\n\n")
    elif how == "babble":
        write("I would rather not\n" * 500)
    elif how == "slow":
        time.sleep(3)
    else:
        raise SystemExit(f"no behaviour {how}")
    sys.stdout.flush()


class Player:
    def __init__(self):
        self.size, self.taken = 19, set()

    def genmove(self):
        for row in range(self.size):
            for letter in LETTERS[: self.size]:
                if (vertex := f"{letter}{row + 1}") not in self.taken:
                    self.taken.add(vertex)
                    return vertex
        return "pass"

    def answer(self, words):
        if words[0] in ("boardsize", "clear_board"):
            self.taken = set()
            if words[0] == "boardsize":
                self.size = int(words[1])
        elif words[0] == "play":
            if words[2] != "pass" and words[2].upper() in self.taken:
                return "? illegal move"
            self.taken.add(words[2].upper())
        elif words[0] == "genmove":
            return f"= {self.genmove()}"
        elif words[0] == "name":
            return "= Fake"
        elif words[0] == "list_commands":
            return "= play\ngenmove\ntime_settings\nset_free_handicap\nkata-set-rules\nparam_game"
        return "="


def main(log, *rules):
    again = os.path.exists(log)
    table = {}
    for rule in rules:
        how, _, when = rule.rpartition("@")
        first, _, how = how.rpartition(":")
        if not (first and again):
            table[when] = how
    player = Player()
    with open(log, "a") as file:
        file.write("start\n")
        file.flush()
        if "start" in table:
            misbehave(table["start"], log)
        for line in sys.stdin:
            words = line.split()
            file.write(line)
            file.flush()
            how = table.get(words[0], "")
            if how.startswith(("+", "-")):
                print("=?"["+-".index(how[0])] + how[1:].replace("_", " "), flush=True)
            else:
                if how:
                    misbehave(how, log)
                print(player.answer(words), flush=True)
            print(flush=True)
            if words[0] == "quit":
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
