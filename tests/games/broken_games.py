"""Tic-tac-toe, broken in one way each, and the property of `halfmove check` that says so."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from halfmove.games.tic_tac_toe import TicTacToe

PLAIN = TicTacToe()
_counter = itertools.count()


class Sound(TicTacToe):
    """The same game, in which overriding one function changes no other."""

    def step(self, key, state, action):
        return PLAIN.step(key, state, action)

    def legal(self, state):
        return PLAIN.legal(state)

    def to_play(self, state):
        return PLAIN.to_play(state)

    def reward(self, state):
        return PLAIN.reward(state)

    def terminated(self, state):
        return PLAIN.terminated(state)

    def observe(self, state):
        return PLAIN.observe(state)

    def action_planes(self, action):
        return PLAIN.action_planes(action)

    def position(self, state):
        return PLAIN.position(state)

    def show(self, state):
        return PLAIN.show(state)


class MaskTooWide(Sound):
    def legal(self, state):
        return jnp.ones(9, bool) & ~self.terminated(state)


class MaskTooNarrow(Sound):
    def legal(self, state):
        mask = super().legal(state)
        return mask & ((jnp.arange(9) != 4) | (mask.sum() == 1))


class IllegalMovePasses(Sound):
    """An illegal move is a lost turn: here, an own mark on the first empty square."""

    def step(self, key, state, action):
        legal = self.legal(state)
        return super().step(key, state, jnp.where(legal[action], action, jnp.argmax(legal)))


class IllegalMoveLoses(Sound):
    def step(self, key, state, action):
        new = super().step(key, state, action)
        lost = ~self.legal(state)[action] & ~self.terminated(state)
        return dataclasses.replace(
            new,
            winner=jnp.where(lost, 2 - self.to_play(state), new.winner).astype(jnp.int8),
            earned=new.earned | lost,
        )


class NeverOver(Sound):
    def terminated(self, state):
        return state.winner > 0


class OpenAtTheEnd(Sound):
    """The mask of a finished game is that of its empty squares."""

    def legal(self, state):
        return state.board == 0


class PlaysOn(Sound):
    """A finished game is played on, though no move of it is legal."""

    def step(self, key, state, action):
        new = super().step(key, state, action)
        board = jnp.where(PLAIN.terminated(state), jnp.roll(state.board, 1), new.board)
        return dataclasses.replace(new, board=board)


class PaysForEver(Sound):
    def reward(self, state):
        earned = state.winner > 0
        return super().reward(dataclasses.replace(state, earned=earned))


class Endless(Sound):
    """Marks are taken off when the board is full."""

    def step(self, key, state, action):
        new = super().step(key, state, action)
        full = jnp.all(new.board > 0)
        return dataclasses.replace(new, board=jnp.where(full, 0, new.board).astype(jnp.int8))

    def terminated(self, state):
        return jnp.zeros((), bool)


class NotZeroSum(Sound):
    def reward(self, state):
        return jnp.maximum(super().reward(state), 0.0)


class NotANumber(Sound):
    def reward(self, state):
        reward = super().reward(state)
        return reward / jnp.abs(reward).max() * jnp.abs(reward).max()


class WrongSign(Sound):
    def reward(self, state):
        return -super().reward(state)


class RewardOfTheWinnerFirst(Sound):
    def reward(self, state):
        return jnp.abs(super().reward(state)) * jnp.array([1.0, -1.0])


class AlwaysPlayerZero(Sound):
    def to_play(self, state):
        return jnp.zeros((), jnp.int32)


class ThirdPlayer(Sound):
    def to_play(self, state):
        return super().to_play(state) + 1


class SeenByPlayerZero(Sound):
    def observe(self, state):
        board = state.board.reshape(3, 3)
        return jnp.stack([board == 1, board == 2], axis=-1).astype(jnp.float32)


class SeenByPlayerZeroWithTurn(Sound):
    """The plane that says whose turn it is does not make up for it."""

    def observe(self, state):
        board = state.board.reshape(3, 3)
        turn = jnp.broadcast_to(self.to_play(state), (3, 3))
        return jnp.stack([board == 1, board == 2, turn], axis=-1).astype(jnp.float32)


class Blind(Sound):
    def observe(self, state):
        return jnp.zeros((3, 3, 2))


class InfiniteObservation(Sound):
    def observe(self, state):
        return super().observe(state) / jnp.any(state.board == 0)


class Impure(Sound):
    def step(self, key, state, action):
        return super().step(key, state, (action + next(_counter)) % 9)


class SecretChance(Sound):
    def step(self, key, state, action):
        turned = super().step(key, state, action)
        coin = jax.random.bernoulli(key)
        flipped = dataclasses.replace(turned, board=(turned.board * 2 % 3).astype(jnp.int8))
        legal = self.legal(state)[action]
        return jax.tree.map(lambda a, b: jnp.where(coin & legal, a, b), flipped, turned)


class NoChance(Sound):
    chance = True


class Drifting(Sound):
    def step(self, key, state, action):
        new = super().step(key, state, action)
        return dataclasses.replace(new, board=new.board.astype(jnp.int32))


class Weak(Sound):
    def init(self, key):
        return dataclasses.replace(super().init(key), winner=jnp.where(True, 0, 1))

    def step(self, key, state, action):
        new = super().step(key, state, action)
        return dataclasses.replace(new, winner=new.winner.astype(jnp.int32))


class Branches(Sound):
    def terminated(self, state):
        return state.winner > 0 if state.winner else jnp.all(state.board > 0)


class WrongShape(Sound):
    def reward(self, state):
        return super().reward(state)[:1]


class Unhashable(Sound):
    __hash__ = None


class NoPermutation(Sound):
    def action_maps(self):
        maps = super().action_maps().copy()
        maps[3, 0] = maps[3, 1]
        return maps


class NoGroup(Sound):
    def action_maps(self):
        return super().action_maps()[:3]


class IdentityElsewhere(Sound):
    def action_maps(self):
        return super().action_maps()[::-1].copy()


class TurnsTheOtherWay(Sound):
    """A quarter turn to the left where the action map turns to the right."""

    def action_maps(self):
        maps = super().action_maps()
        return np.argsort(maps, axis=1)


class CornerRule(Sound):
    """The first square cannot be taken first: the rules are less symmetric than the maps."""

    def legal(self, state):
        late = jnp.any(state.board > 0)
        return super().legal(state) & (late | (jnp.arange(9) != 0))


class SamePlanes(Sound):
    def action_planes(self, action):
        return super().action_planes(action // 2)


class LosesARow(Sound):
    """What the next player sees of a board is smaller."""

    def passed(self, planes):
        return planes[1:]


class SameName(Sound):
    def move_name(self, state, action):
        return str(int(action) % 8)


class OtherName(Sound):
    def move_name(self, state, action):
        return str(8 - int(action))


class KeyErrorOfMoves(Sound):
    def parse_move(self, state, text):
        return {str(action): action for action in range(9)}[text]


class LosesAMark(Sound):
    def parse_position(self, text):
        state = super().parse_position(text)
        return dataclasses.replace(state, board=state.board.at[jnp.argmax(state.board)].set(0))


class ForgetsTheWinner(Sound):
    def parse_position(self, text):
        return dataclasses.replace(super().parse_position(text), winner=jnp.int8(0))


class ReadsAnything(Sound):
    def parse_position(self, text):
        return super().parse_position(text if len(text) == 9 else "." * 9)


class IndexErrorOfPositions(Sound):
    def parse_position(self, text):
        [text[square] for square in range(9)]
        return super().parse_position(text)


class TwoLines(Sound):
    def position(self, state):
        return self.show(state)


class Heavy(Sound):
    """Keeps its own observation."""

    def init(self, key):
        state = PLAIN.init(key)
        return {"plain": state, "seen": PLAIN.observe(state)}

    def step(self, key, state, action):
        plain = PLAIN.step(key, state["plain"], action)
        return {"plain": plain, "seen": PLAIN.observe(plain)}

    def observe(self, state):
        return state["seen"]


for _name in ("legal", "to_play", "reward", "terminated", "show", "position"):
    setattr(Heavy, _name, lambda self, state, name=_name: getattr(PLAIN, name)(state["plain"]))


MUTANTS = {
    MaskTooWide: ("legal", "a legal move changed nothing"),
    MaskTooNarrow: ("legal", "the mask forbids a move that step makes"),
    IllegalMovePasses: ("legal", "the mask forbids a move that step makes"),
    IllegalMoveLoses: ("legal", "the mask forbids a move"),
    NeverOver: ("legal", "the game goes on, but no move is legal"),
    PlaysOn: ("ends", "the game is over, but a move changed it"),
    OpenAtTheEnd: ("ends", "the game is over, but moves are legal"),
    PaysForEver: ("ends", "the game is over, but a move earned something"),
    Endless: ("ends", "64 of 64 random games go on after 40 moves"),
    NotZeroSum: ("rewards", "do not add up to zero"),
    NotANumber: ("rewards", "not a finite number"),
    WrongSign: ("results", "the player who made the last move won none"),
    RewardOfTheWinnerFirst: ("results", "player 1 won none"),
    AlwaysPlayerZero: ("turns", "of 2 players only [0] ever moved"),
    ThirdPlayer: ("turns", "to_play is not a player"),
    SeenByPlayerZero: ("side", "the same from both sides"),
    SeenByPlayerZeroWithTurn: ("side", "the same from both sides"),
    Blind: ("side", "the observation never changes"),
    InfiniteObservation: ("side", "not finite"),
    Impure: ("pure", "step is another program every time it is traced"),
    SecretChance: ("pure", "step depends on its key"),
    NoChance: ("pure", "no key made a difference"),
    Drifting: ("types", "step changes the type of state.board: int32[9]; init gives int8[9]"),
    Weak: ("types", "init gives int32[], weak"),
    Branches: ("types", "TracerBoolConversionError"),
    WrongShape: ("types", "reward gives float32[1], weak; expected float32[2]"),
    LosesARow: ("types", "passed gives float32[2, 3, 3]; expected float32[3, 3, 3]"),
    Unhashable: ("types", "cannot be hashed"),
    NoPermutation: ("symmetries", "action map 3 is no permutation"),
    NoGroup: ("symmetries", "is none of the maps"),
    IdentityElsewhere: ("symmetries", "action map 0 is not the identity"),
    TurnsTheOtherWay: ("symmetries", "is not turning it by 5, as it is with the actions"),
    CornerRule: ("symmetries", "the same game turned has another set of legal moves"),
    SamePlanes: ("planes", "two legal moves have the same action planes"),
    SameName: ("moves", "two legal moves are both named '0'"),
    OtherName: ("moves", "move_name says '8' of action 0, and parse_move 8 of that"),
    KeyErrorOfMoves: ("moves", "parse_move of '' raises KeyError, not ValueError"),
    LosesAMark: ("positions", "gives another line"),
    ForgetsTheWinner: ("positions", "another end"),
    ReadsAnything: ("positions", "parse_position reads '' as '.........'; expected ValueError"),
    IndexErrorOfPositions: ("positions", "raises IndexError, not ValueError"),
    TwoLines: ("positions", "not one line"),
    Heavy: ("size", "state['seen'] is the observation"),
}
