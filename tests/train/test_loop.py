"""What the loop counts, decides and refuses."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmove.cli import main
from halfmove.learn.optimiser import OptimiserConfig
from halfmove.train import checkpoint
from halfmove.train.config import ReanalyseConfig, TrainConfig
from halfmove.train.durable import RunError
from halfmove.train.hands import Local
from halfmove.train.loop import Loop, train
from halfmove.train.parts import parts_of
from halfmove.train.trained import trained
from tests.runs import small
from tests.train.test_resume import tiny


@pytest.fixture(scope="module")
def parts():
    return parts_of(tiny())


@given(
    lanes=st.integers(1, 2000),
    chunk=st.integers(1, 64),
    batch=st.integers(1, 4096),
    begin=st.integers(0, 100_000),
    samples=st.fractions(min_value="1/64", max_value=64),
)
def test_positions_are_used_as_often_as_asked_for(parts, lanes, chunk, batch, begin, samples):
    """After every iteration the updates are those that are due, less than one is missing."""
    learn = replace(parts.config.learn, batch=batch, begin=begin, samples=float(samples))
    play = replace(parts.selfplay, lanes=lanes, chunk=chunk)
    here = replace(parts, config=replace(parts.config, learn=learn), selfplay=play)
    for iteration in (1, 2, 3, 10, 1000):
        due = max(0, iteration * lanes * chunk - begin) * samples
        used = here.updates_due(iteration) * batch
        assert due - batch - 1e-6 * due < used <= due + 1e-6 * due


class Noted(Local):
    """Plays nothing, but notes what it is told to."""

    def begin(self):
        self.orders = []
        self.variables, self.target = {"w": jnp.zeros(())}, {"w": jnp.zeros(())}

    def order(self, order):
        self.orders.append(order)


def test_temperatures_have_equal_parts_of_the_run(parts):
    play = replace(parts.config.selfplay, temperatures=(1.0, 0.5, 0.25))
    config = replace(parts.config, iterations=8, selfplay=play)
    noted = Noted(replace(parts, config=config))
    loop = Loop(noted.parts, None, noted)
    for number in range(10):  # as many, and some more
        loop._order(number)
    # MuZero, appendix: one after another; 8 iterations in three parts.
    assert [order.heat for order in noted.orders] == [1, 1, 1, 0.5, 0.5, 0.5, *[0.25] * 4]
    keys = {tuple(np.asarray(jax.random.key_data(order.key))) for order in noted.orders}
    assert len(keys) == 10


def test_reanalyze_is_80_percent_unless_another_share_is_asked_for():
    shares = [ReanalyseConfig(), ReanalyseConfig(on=True), ReanalyseConfig(share=0.5),
              ReanalyseConfig(on=True, share=0.25)]  # fmt: skip
    assert [one.part for one in shares] == [0.0, 0.8, 0.5, 0.25]


def test_the_target_network_follows_every_so_many_updates(parts):
    learn = replace(parts.config.learn, steps=2)
    config = replace(parts.config, learn=learn, reanalyse=ReanalyseConfig(on=True, target_every=3))
    hands = Noted(replace(parts, config=config))
    hands.begin()
    targets = []

    def update(key):
        targets.append(float(hands.target["w"]))
        hands.variables = {"w": hands.variables["w"] + 1}
        return {"loss": jnp.ones(()), "skipped": jnp.float32(len(targets) % 4 == 0)}

    assert hands.learn(range(4), 0, update) == {"loss": 4.0, "skipped": 1.0, "broken": 1.0}
    hands.learn(range(4), 4, update)
    assert targets == [0, 0, 0, 3, 3, 3, 6, 6]


def test_a_loss_that_is_no_number_stops_the_run(tmp_path):
    """A step that is far too large breaks the network; the checkpoint before it is sound."""
    path = tmp_path / "run"
    config = replace(
        tiny(), iterations=100, save_every=1, selfplay=replace(tiny().selfplay, resign=0.0)
    )
    # Two good updates, then one that ends it.
    fatal = OptimiserConfig("sgd", 1e-3, "steps", boundaries=(2,), factor=1e35, momentum=0.0)
    config = replace(config, learn=replace(config.learn, optimiser=fatal))
    with pytest.raises(RunError, match=r"not a finite number in 2\d updates in a row") as stopped:
        train(config, path)
    # 64 positions are waited for, then every 16 are an update, and 32 an iteration.
    assert "checkpoint 3 is from before" in str(stopped.value)
    assert "--learn.optimiser.learning-rate" in str(stopped.value)
    sound = trained(path, 3)
    assert all(float(np.abs(x).max(initial=0)) < 100 for x in jax.tree.leaves(sound.variables))
    lines = [json.loads(x) for x in (path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[2]["learn/skipped"] == 0
    assert lines[-1]["learn/skipped"] == 1
    # The one that a step broke which had worked is not in the way.
    assert max(checkpoint.numbers(path / "checkpoints")) == 3
    smaller = ["--learn.optimiser.factor", "1.0", "--learn.optimiser.clip", "1.0"]
    smaller += ["--iterations", "6"]
    assert main(["resume", str(path), *smaller]) == 0
    assert trained(path).number == 6
    assert trained(path).config.learn.optimiser.factor == 1.0


def test_a_network_that_its_last_update_broke_is_not_saved(tmp_path):
    """Also where other updates of the same iteration worked, and where the run ends with it."""
    path = tmp_path / "run"
    base = tiny()
    fatal = OptimiserConfig("sgd", 1e-3, "steps", boundaries=(2,), factor=1e35, momentum=0.0)
    learn = replace(base.learn, optimiser=fatal, samples=base.learn.samples * 4)
    play = replace(base.selfplay, resign=0.0)
    train(replace(base, iterations=3, save_every=1, selfplay=play, learn=learn), path)
    lines = [json.loads(x) for x in (path / "metrics.jsonl").read_text().splitlines()]
    assert 0 < lines[-1]["learn/skipped"] < 1
    assert checkpoint.numbers(path / "checkpoints") == [1, 2]
    assert (
        "iteration 3 is not saved: the loss is not a finite number"
        in (path / "log.txt").read_text()
    )


def test_a_run_goes_on_with_changes_that_fit(tmp_path, capsys):
    path = small(tmp_path / "run")
    assert main(["resume", str(path), "--iterations", "3", "--search.simulations", "4"]) == 0
    again = trained(path)
    assert (again.number, again.config.iterations, again.config.search.simulations) == (3, 3, 4)
    for words, said in (
        (["--net.planes", "5"], "net cannot be changed in a run that goes on"),
        (["--selfplay.lanes", "8"], "selfplay.lanes cannot be changed"),
        (["--learn.samples", "1"], "learn.samples cannot be changed"),
        (["--learn.optimiser.kind", "sgd"], "learn.optimiser.kind cannot be changed"),
        (["--rating.every", "1"], "a run that goes on is rated as it was"),
        (["--learn.discount", "1.5"], "learn.discount must be from 0 to 1, got 1.5"),
    ):
        assert main(["resume", str(path), *words]) > 0
        assert said in capsys.readouterr().err
    assert trained(path).config == again.config


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"game": "hex size=3"}, "expect.game: 'tic_tac_toe' in the checkpoint, 'hex size=3' now"),
        ({"net": {"planes": 5}}, "expect.net.planes: 4 in the checkpoint, 5 now"),
        ({"seed": 1}, "expect.seed: 0 in the checkpoint, 1 now"),
        ({"colour": "red"}, "unknown entry colour; another version wrote it"),
        ({"net": {"colour": 1}}, "unknown entry net.colour; another version wrote it"),
    ],
)
def test_a_run_of_another_kind_does_not_go_on(tmp_path, capsys, change, said):
    path = small(tmp_path / "run")
    config = json.loads((path / "config.json").read_text())
    for name, value in change.items():
        config[name] = {**config[name], **value} if isinstance(value, dict) else value
    config["iterations"] = 3
    (path / "config.json").write_text(json.dumps(config))
    before = (path / "metrics.jsonl").read_bytes(), sorted(path.rglob("checkpoints/*/*"))
    assert main(["resume", str(path)]) == 1
    shown = capsys.readouterr()
    assert said in shown.err
    assert "Traceback" not in shown.err + shown.out
    assert before == ((path / "metrics.jsonl").read_bytes(), sorted(path.rglob("checkpoints/*/*")))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"resign": 1.0}, "selfplay.resign must be from 0 to below 1, got 1.0"),
        ({"resign": 0.05, "calibration": 0.0}, "calibration must be above 0"),
        ({"temperatures": ()}, "temperatures must name at least one"),
        ({"lanes": 0}, "selfplay.lanes must be at least 1, got 0"),
    ],
)
def test_a_self_play_that_cannot_be_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        replace(tiny(), selfplay=replace(tiny().selfplay, **change))


def test_nobody_resigns_alone():
    config = TrainConfig(game="2048", selfplay=replace(tiny().selfplay, resign=0.05))
    with pytest.raises(ValueError, match=r"no one resigns in 2048: selfplay\.resign must be 0"):
        parts_of(config)
