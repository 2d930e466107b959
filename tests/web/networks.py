"""Players for tests: networks that have learned nothing, and an engine that soon gives up."""

import json
from dataclasses import asdict, replace

import jax

from halfmove import games
from halfmove.nets import NetConfig
from halfmove.train import checkpoint
from halfmove.train.parts import model_of
from halfmove.train.presets import preset

# Passes with black and resigns with white: enough to be refereed.
ENGINE = """
import sys
for line in sys.stdin:
    words = line.split()
    answer = {"name": "stub", "version": "1", "protocol_version": "2"}.get(words[0], "")
    if words[0] == "list_commands":
        answer = "play\\ngenmove\\nboardsize\\nkomi\\nclear_board\\nquit\\nname\\nversion"
    if words[0] == "genmove":
        answer = "pass" if words[1].lower().startswith("b") else "resign"
    print("= " + answer + "\\n", flush=True)
    if words[0] == "quit":
        break
"""


def untrained(folder, game, *, number=1):
    """A run of `game` in `folder` with one checkpoint of a network of one block and 8 planes."""
    net = NetConfig(planes=8, blocks=1, head_width=8)
    config = replace(preset("tic_tac_toe"), game=game, net=net)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(asdict(config)), encoding="utf-8")
    model = model_of(config, games.read(game))
    variables = jax.jit(model.init)(jax.random.key(0))
    checkpoint.save(folder / "checkpoints", number, {"variables": variables})
    return folder
