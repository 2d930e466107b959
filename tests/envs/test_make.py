"""Finding environments by name, and what is said when something is missing."""

import subprocess
import sys

import pytest

from halfmove.envs import make


def test_unknown_names_say_what_there_is():
    with pytest.raises(ValueError, match=r"unknown environment 'pong'; did you mean 'atari:pong'"):
        make("pong")
    with pytest.raises(ValueError, match=r"unknown environment 'nes:mario'.*'atari:ROM'.*'gymn"):
        make("nes:mario")
    with pytest.raises(ValueError, match=r"no Atari ROM 'ms_pakman'; did you mean 'ms_pacman'"):
        make("atari:ms_pakman")
    with pytest.raises(ValueError, match=r"no Atari ROM 'MsPacman'; did you mean 'ms_pacman'"):
        make("atari:MsPacman")
    with pytest.raises(ValueError, match=r"no Atari ROM 'qqqq'\. .*names\(\).*get_all_rom_ids"):
        make("atari:qqqq")


def test_nothing_is_imported_before_it_is_needed():
    program = (
        "import sys; import halfmove.envs as e, halfmove.envs.atari, halfmove.envs.gymnasium; "
        "import halfmove.envs.sampled; assert len(e.names()) == 57; "
        "print(sorted({'ale_py', 'gymnasium'} & set(sys.modules)))"
    )
    call = [sys.executable, "-c", program]
    run = subprocess.run(call, check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("missing", "name", "said"),
    [
        ("ale_py", "atari:pong", r"Atari needs ale-py: pip install 'halfmove\[atari\]'"),
        ("gymnasium", "gymnasium:CartPole-v1", "need gymnasium: pip install gymnasium"),
    ],
)
def test_a_missing_package_says_how_to_install_it(monkeypatch, missing, name, said):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=said):
        make(name)


def test_an_old_ale_is_refused(monkeypatch):
    import ale_py

    monkeypatch.setattr(ale_py, "__version__", "0.11.2")
    with pytest.raises(ImportError, match=r"ale-py 0\.12 or newer, this is 0\.11\.2"):
        make("atari:pong")
