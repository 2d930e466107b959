"""The algorithms of the papers, each a recipe of five functions.

    plan = full_gumbel(32)(key, model, params, timestep)
    plan = planner("full_gumbel", simulations=32)(key, model, params, timestep)

Options shared by all: `max_depth` (no limit by default), `leaves` (how many
leaves of one tree are evaluated in one model call, with virtual losses; 1 is
exact), `tree` (keep the tree in the plan), `engine` ("auto", "xla", "kernel").
Without a tree (`mcs`, `pgs`, `pgs_unfrozen`) `max_depth` is 64 and `leaves` 32 by
default, and there is nothing to choose in the last two.
"""

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import Any

from halfmove.search import act as acting
from halfmove.search import halving, improve, noise, scaling, select
from halfmove.search.adapt import Adapt
from halfmove.search.numbers import real, switch, whole
from halfmove.search.rollout import RolloutSearch
from halfmove.search.rule import Improve, Noise, Rule, Select, Untried
from halfmove.search.scaling import Normalise
from halfmove.search.search import TreeSearch


def full_gumbel(
    simulations: int,
    *,
    considered: int = 16,
    c_visit: float = 50.0,
    c_scale: float = 1.0,
    completion: str = "mixed",
    normalise: Normalise = "siblings",
    gumbel_scale: float = 1.0,
    **shared: Any,
) -> TreeSearch:
    """Sequential Halving at the root, visits that track π' below it.

    Gumbel paper, sections 3 to 5.
    """
    rise = _advantage(c_visit, c_scale, completion, normalise)
    return _gumbel(
        simulations, considered, rise, select.track(improve.raised(rise)),
        noise.gumbel(scale=gumbel_scale), shared,
    )  # fmt: skip


def gumbel(
    simulations: int,
    *,
    considered: int = 16,
    c_visit: float = 50.0,
    c_scale: float = 1.0,
    completion: str = "mixed",
    normalise: Normalise = "siblings",
    gumbel_scale: float = 1.0,
    c_init: float = 1.25,
    c_base: float = 19652.0,
    c_puct: float | None = None,
    **shared: Any,
) -> TreeSearch:
    """Sequential Halving at the root, MuZero's pUCT below it. Gumbel paper, section 7."""
    rise = _advantage(c_visit, c_scale, completion, normalise)
    below = _puct(normalise, _exploration(c_init, c_base, c_puct))
    drawn, untried = noise.gumbel(scale=gumbel_scale), scaling.untried(normalise)
    return _gumbel(simulations, considered, rise, below, drawn, shared, untried)


def gumbel_stochastic(
    simulations: int,
    *,
    considered: int = 16,
    c_visit: float = 50.0,
    c_scale: float = 1.0,
    completion: str = "mixed",
    normalise: Normalise = "siblings",
    gumbel_scale: float = 1.0,
    **shared: Any,
) -> TreeSearch:
    """Full Gumbel with actions drawn from π' below the root: the ablation of figure 7."""
    rise = _advantage(c_visit, c_scale, completion, normalise)
    return _gumbel(
        simulations, considered, rise, select.sample(improve.raised(rise)),
        noise.gumbel(scale=gumbel_scale), shared,
    )  # fmt: skip


def gumbel_replacement(
    simulations: int,
    *,
    considered: int = 16,
    c_visit: float = 50.0,
    c_scale: float = 1.0,
    completion: str = "mixed",
    normalise: Normalise = "siblings",
    gumbel_scale: float = 1.0,
    c_init: float = 1.25,
    c_base: float = 19652.0,
    c_puct: float | None = None,
    **shared: Any,
) -> TreeSearch:
    """Gumbel with the considered actions drawn WITH replacement, an ablation."""
    whole("considered", considered, 1)
    whole("simulations", simulations, 1)
    rise = _advantage(c_visit, c_scale, completion, normalise)
    below = _puct(normalise, _exploration(c_init, c_base, c_puct))
    drawn = noise.replacement(min(considered, simulations), scale=gumbel_scale)
    return _gumbel(simulations, considered, rise, below, drawn, shared, scaling.untried(normalise))


def muzero(
    simulations: int,
    *,
    normalise: Normalise = "tree",
    dirichlet_fraction: float = 0.25,
    dirichlet_alpha: float = 0.3,
    c_init: float = 1.25,
    c_base: float = 19652.0,
    c_puct: float | None = None,
    temperature: float = 1.0,
    **shared: Any,
) -> TreeSearch:
    """pUCT everywhere, Dirichlet noise at the root. MuZero, appendix B."""
    whole("simulations", simulations, 1)
    rule = _puct(normalise, _exploration(c_init, c_base, c_puct))
    return TreeSearch(
        Rule(
            noise=noise.dirichlet(fraction=dirichlet_fraction, alpha=dirichlet_alpha),
            select_root=rule,
            select=rule,
            improve=improve.visit_share(),
            act=acting.by_visits(temperature=temperature),
            untried=scaling.untried(normalise),
        ),
        simulations=simulations,
        **shared,
    )


def alphazero(
    simulations: int, *, normalise: Normalise = (-1.0, 1.0), **options: Any
) -> TreeSearch:
    """MuZero's search with Q on the range of a game's result. Options as `muzero`."""
    return muzero(simulations, normalise=normalise, **options)


def trpo(simulations: int, **options: Any) -> TreeSearch:
    """MuZero regularised by KL(π, y). Options as `mpo`. Grill et al. 2020."""
    return _regularised(improve.trpo, simulations, **options)


def mpo(simulations: int, **options: Any) -> TreeSearch:
    """MuZero regularised by KL(y, π). Grill et al. 2020.

    `act`, `search` and `learn` say where the regularised policy π̄ takes the
    place of the visit counts (act, learn) and of pUCT (search); all by default.
    The other options are `muzero`'s, and `completion` as in `full_gumbel`.
    """
    return _regularised(improve.mpo, simulations, **options)


def prior(*, temperature: float = 1.0, simulations: int = 0, **shared: Any) -> TreeSearch:
    """No search: moves drawn from the network's policy."""
    if simulations != 0:
        raise ValueError(f"prior does not search: simulations must be 0, got {simulations}")
    return TreeSearch(
        Rule(
            noise=noise.none(),
            select_root=select.sample(improve.prior()),
            select=select.sample(improve.prior()),
            improve=improve.prior(),
            act=acting.by_policy(improve.prior(), temperature=temperature),
        ),
        simulations=0,
        **shared,
    )


def mcs(
    simulations: int,
    *,
    c_puct: float = 5.0,
    normalise: Normalise = None,
    dirichlet_fraction: float = 0.25,
    dirichlet_alpha: float = 0.12,
    temperature: float = 1.0,
    adapt: Adapt | None = None,
    **shared: Any,
) -> RolloutSearch:
    """Monte Carlo Search: pUCT at the root, then moves sampled from the prior; no tree.

    `truncate`, `horizon`, `threshold`, `distinct` and `remember` say how long a simulation is
    and what is kept of it (`RolloutSearch`). pUCT sees Q as it is, as for results from -1 to 1;
    give `normalise="tree"` where rewards are large. Policy Gradient Search paper, section 2.4.
    """
    return RolloutSearch(
        Rule(
            noise=noise.dirichlet(fraction=dirichlet_fraction, alpha=dirichlet_alpha),
            select_root=_puct(normalise, select.constant(c_puct)),
            select=select.sample(improve.prior()),
            improve=improve.visit_share(),
            act=acting.by_visits(temperature=temperature),
            untried=scaling.untried(normalise),
        ),
        simulations=simulations,
        adapt=adapt,
        **shared,
    )


def pgs(
    simulations: int,
    *,
    learning_rate: float = 1e-4,
    optimiser: Any = "sgd",
    baseline: bool = False,
    everything: bool = False,
    **options: Any,
) -> RolloutSearch:
    """Monte Carlo Search whose policy head learns by REINFORCE, along a whole game.

    After every batch of simulations each game's own copy of the head takes a step of the
    `optimiser` (a name of Optax, or any of its transformations) with the `learning_rate`. The
    trunk, its batch norm and the values stay as they are. Networks of 9×9 Hex wanted rates of
    1e-4 and 5e-4, 13×13 2e-5. `baseline` takes the network's value of a state from what came of
    a move there. Other options as `mcs`. Policy Gradient Search paper, section 3.
    """
    adapt = Adapt(learning_rate, optimiser, baseline, everything)
    return mcs(simulations, adapt=adapt, **options)


def pgs_unfrozen(simulations: int, *, learning_rate: float = 5e-6, **options: Any) -> RolloutSearch:
    """Policy Gradient Search that adapts all the policy is computed with, not its head alone.

    Batch norm and the values stay the network's. Several times slower, and weaker in the paper.
    Options as `pgs`. Policy Gradient Search paper, section 4.3.
    """
    return pgs(simulations, learning_rate=learning_rate, everything=True, **options)


Search = TreeSearch | RolloutSearch

PLANNERS: dict[str, Callable[..., Search]] = {
    recipe.__name__: recipe
    for recipe in (
        alphazero, muzero, gumbel, full_gumbel, gumbel_stochastic, gumbel_replacement,
        trpo, mpo, prior, mcs, pgs, pgs_unfrozen,
    )
}  # fmt: skip
TREELESS = ("mcs", "pgs", "pgs_unfrozen")
LENGTHS = ("truncate", "horizon", "threshold", "distinct", "remember")  # options of these

INNER = ("policy", "adapt", "everything")  # what one recipe tells another
SHARED = ("max_depth", "leaves", "tree", "engine")  # options of every planner


def names() -> list[str]:
    """The names `planner` knows."""
    return sorted(PLANNERS)


def planner(name: str, **options: Any) -> Search:
    """The planner of that name: `planner("full_gumbel", simulations=32)`.

    Asked twice for the same, it gives the same, so that nothing compiles again.
    """
    accepted = sorted(options_of(name))
    if "simulations" not in options and name != "prior":
        raise ValueError(f"planner {name!r} needs simulations=..., how many it may run")
    for option in options:
        if option not in accepted:
            raise ValueError(
                f"planner {name!r} has no option {option!r}{_near(option, accepted)}; "
                f"it takes: {', '.join(accepted)}"
            )
    try:
        return _made(name, tuple((k, type(v), v) for k, v in sorted(options.items())))
    except TypeError:  # an option that cannot be hashed
        return PLANNERS[name](**options)


@functools.lru_cache(maxsize=256)
def _made(name: str, options: tuple[tuple[str, type, Any], ...]) -> Search:
    return PLANNERS[name](**{key: value for key, _, value in options})


def options_of(name: str) -> dict[str, Any]:
    """Every option of the planner of that name and its default, `...` where one must be given.

    Those that the recipe passes on are included, those that all planners share come last.
    """
    if name not in PLANNERS:
        raise ValueError(
            f"unknown planner {name!r}{_near(name, names())}; known: {', '.join(names())}"
        )
    further: dict[str, tuple[Callable[..., Any], ...]] = {
        "alphazero": (muzero,), "trpo": (_regularised,), "mpo": (_regularised,),
        "pgs": (mcs,), "pgs_unfrozen": (pgs, mcs),
    }  # fmt: skip
    found: dict[str, Any] = {}
    for f in (PLANNERS[name], *further.get(name, ())):
        for option, parameter in inspect.signature(f).parameters.items():
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD and option not in INNER:
                needed = parameter.default is inspect.Parameter.empty
                found.setdefault(option, ... if needed else parameter.default)
    kind, own = (RolloutSearch, LENGTHS) if name in TREELESS else (TreeSearch, ())
    return found | {option: getattr(kind, option) for option in (*own, *SHARED)}


def _near(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _advantage(
    c_visit: float, c_scale: float, completion: str, normalise: Normalise
) -> improve.Advantage:
    real("c_visit", c_visit, least=0)
    real("c_scale", c_scale, least=0)
    return improve.completed_q(
        c_visit=c_visit, c_scale=c_scale, completion=completion, scale=scaling.named(normalise)
    )


def _gumbel(
    simulations: int, considered: int, rise: improve.Advantage, below: Select, drawn: Noise,
    shared: dict[str, Any], untried: Untried = None,
) -> TreeSearch:  # fmt: skip
    whole("considered", considered, 1)
    whole("simulations", simulations, 1)
    considered = min(considered, simulations)
    return TreeSearch(
        Rule(
            noise=drawn,
            select_root=select.halving(rise),
            select=below,
            improve=improve.raised(rise),
            act=acting.best_considered(rise),
            schedule=halving.Halving(considered, simulations),
            untried=untried,
        ),
        simulations=simulations,
        **shared,
    )


def _regularised(
    policy: Callable[..., Improve],
    simulations: int,
    *,
    act: bool = True,
    search: bool = True,
    learn: bool = True,
    completion: str = "mixed",
    normalise: Normalise = "siblings",
    dirichlet_fraction: float = 0.25,
    dirichlet_alpha: float = 0.3,
    c_init: float = 1.25,
    c_base: float = 19652.0,
    c_puct: float | None = None,
    temperature: float = 1.0,
    **shared: Any,
) -> TreeSearch:
    whole("simulations", simulations, 1)
    for name, value in (("act", act), ("search", search), ("learn", learn)):
        switch(name, value)
    exploration = _exploration(c_init, c_base, c_puct)
    scale = scaling.named(normalise)
    better = policy(factor=exploration, scale=scale, completion=completion)
    descend = select.sample(better) if search else _puct(normalise, exploration)
    return TreeSearch(
        Rule(
            noise=noise.dirichlet(fraction=dirichlet_fraction, alpha=dirichlet_alpha),
            select_root=descend,
            select=descend,
            improve=better if learn else improve.visit_share(),
            act=acting.by_policy(better, temperature=temperature)
            if act
            else acting.by_visits(temperature=temperature),
            untried=None if search else scaling.untried(normalise),
        ),
        simulations=simulations,
        **shared,
    )


def _puct(normalise: Normalise, exploration: select.Exploration) -> Select:
    return select.by_lot(select.puct(exploration=exploration, scale=scaling.named(normalise)))


def _exploration(c_init: float, c_base: float, c_puct: float | None) -> select.Exploration:
    if c_puct is not None:
        return select.constant(c_puct)
    real("c_init", c_init, least=0)
    real("c_base", c_base, above=0)
    return select.growing(c_init=c_init, c_base=c_base)
