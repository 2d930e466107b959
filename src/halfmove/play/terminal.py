"""A person against a run's network, in the terminal."""

import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from halfmove import games
from halfmove.core.game import Game, State, over, timestep
from halfmove.train.durable import RunError
from halfmove.train.trained import Trained, trained

HELP = "a move, `undo`, `hint`, or `quit`"


def main(run: str, *, simulations: int = 64, second: bool = False) -> int:
    """Plays one game against the newest network of a run; gives the exit status."""
    net = trained(run)
    if net.game.players != 2:
        raise RunError(f"{net.config.game} is not a game for two")
    print(f"{net.config.game}: you play {'second' if second else 'first'}. Type {HELP}.")
    return _play(net.game, opponent(net, simulations), int(second))


def opponent(net: Trained, simulations: int) -> Callable[[State], tuple[int, float]]:
    """The network's choice in a position, and what it thinks of it: -1 to 1."""
    search = net.planner(simulations)

    @jax.jit
    def think(variables: Any, state: State) -> Any:
        one = jax.tree.map(lambda x: x[None], timestep(net.game, state))
        plan = search(jax.random.key(0), net.model, variables, one)
        return plan.action[0], plan.value[0]

    def choose(state: State) -> tuple[int, float]:
        action, value = think(net.variables, state)
        return int(action), float(value)

    return choose


def _play(game: Game, choose: Callable[[State], tuple[int, float]], person: int) -> int:
    past = [game.init(jax.random.key(0))]
    while True:
        state = past[-1]
        print("\n" + game.show(state) + "\n")
        if over(game, state):
            gained = np.asarray(game.reward(state))[person]
            print("You won." if gained > 0 else "You lost." if gained < 0 else "A draw.")
            return 0
        if int(game.to_play(state)) != person:
            action, value = choose(state)
            name = game.move_name(state, action)
            print(f"The network plays {name} and expects {value:+.2f} for itself.")
            past.append(games.play(game, state, action))
            continue
        if not _moved(game, choose, past):
            return 0


def _moved(game: Game, choose: Callable[[State], tuple[int, float]], past: list[State]) -> bool:
    """Asks until the game has moved on, or back; False: the person has left."""
    state = past[-1]
    while True:
        print("your move: ", end="", flush=True)
        line = sys.stdin.readline()
        word = line.strip()
        if not line or word in ("quit", "exit"):
            print()
            return False
        if word == "undo":
            if len(past) > 2:
                del past[-2:]
                return True
            print("There is nothing to take back.")
        elif word == "hint":
            action, value = choose(state)
            print(f"{game.move_name(state, action)} ({value:+.2f} for you)")
        else:
            try:
                past.append(games.play(game, state, word))
            except ValueError as error:
                print(f"{error}. Type {HELP}.")
                continue
            return True
