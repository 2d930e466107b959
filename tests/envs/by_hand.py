"""ale-py's single-game interface played frame by frame: the oracle of the Atari tests."""

import ale_py
import numpy as np

ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)


class Game:
    """One game whose frames, no-ops and frame skip are done here, in the open."""

    def __init__(self, rom: str, seed: int, sticky: float) -> None:
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", sticky)
        self.ale.setInt("random_seed", int(seed))
        self.ale.loadROM(ale_py.roms.get_rom_path(rom))

    def start(self, noops: int) -> np.ndarray:
        """The screen [210, 160, 3] after a reset and so many no-op frames."""
        self.ale.reset_game()
        for _ in range(noops):
            self.ale.act(ale_py.Action.NOOP)
        return self.ale.getScreenRGB()

    def play(self, action: int, skip: int = 4) -> tuple[np.ndarray, int, bool]:
        """Screen, reward, and whether the game is over."""
        reward, screens = 0, []
        for _ in range(skip):
            reward += self.ale.act(ale_py.Action(action))
            if self.ale.game_over():
                return self.ale.getScreenRGB(), reward, True
            screens.append(self.ale.getScreenRGB())
        return np.maximum(screens[-1], screens[-2]), reward, False


def with_noops(rom: str, seed: int, sticky: float, screens: list, actions: list) -> list[int]:
    """The numbers of no-ops, 0 to 40, that explain all `screens` seen while playing `actions`."""
    game, found = Game(rom, seed, sticky), []
    screen = game.start(0)
    for noops in range(41):
        if np.array_equal(screen, screens[0]):
            here = game.ale.cloneState(include_rng=True)
            if all(
                np.array_equal(game.play(action)[0], screen)
                for action, screen in zip(actions, screens[1:], strict=True)
            ):
                found.append(noops)
            game.ale.restoreState(here)
        game.ale.act(ale_py.Action.NOOP)
        screen = game.ale.getScreenRGB()
    return found


def shrunk(screen: np.ndarray, height: int, width: int) -> np.ndarray:
    """The mean colour of the area that each small pixel covers."""

    def shares(big: int, small: int) -> np.ndarray:
        edges = np.arange(small + 1) * big / small
        low, high = edges[:-1, None], edges[1:, None]
        pixel = np.arange(big)
        covered = np.minimum(high, pixel + 1) - np.maximum(low, pixel)
        return np.clip(covered, 0, None) * small / big

    rows, columns = shares(screen.shape[0], height), shares(screen.shape[1], width)
    return np.moveaxis(rows @ np.moveaxis(screen.astype(float), 2, 0) @ columns.T, 0, 2)
