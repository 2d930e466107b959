"""One update of the network."""

from typing import Any

import jax
import jax.numpy as jnp
import optax

from halfmove.core.types import pytree
from halfmove.learn.loss import LossConfig, Metrics, loss
from halfmove.learn.targets import Targets
from halfmove.models import Trainable, Variables


@pytree
class Batch:
    """What one update learns from."""

    observation: Any  # [n, ...], of the first position of each window, as the model reads it
    targets: Targets


def update(
    model: Trainable,
    optimiser: optax.GradientTransformation,
    config: LossConfig,
    variables: Variables,
    opt_state: Any,
    batch: Batch,
) -> tuple[Variables, Any, Metrics]:
    """(variables, optimiser's state, metrics) after one step; to be called under `jit`.

    If the loss or its gradient is not finite nothing changes, and `metrics["skipped"]` is 1.
    Nothing changes either if the whole batch has no weight: no game may have ended yet.
    Begin with `optimiser.init(variables["params"])`.
    """

    def of_params(params: Any) -> tuple[Any, tuple[Any, Metrics]]:
        given = {"params": params, "stats": variables["stats"]}
        return loss(model, config, given, batch.observation, batch.targets)

    params = variables["params"]
    (total, (stats, metrics)), gradient = jax.value_and_grad(of_params, has_aux=True)(params)
    norm = optax.tree.norm(gradient)
    changes, moved = optimiser.update(gradient, opt_state, params)
    fine = jnp.isfinite(total) & jnp.isfinite(norm)
    # What stands in such a batch is one position again and again. Batch norm would remember a
    # variance of nearly nothing, and games would be played by a network that is sure of anything.
    learned = fine & jnp.any(batch.targets.weight != 0)

    def kept(new: Any, old: Any) -> Any:
        return jax.tree.map(lambda x, y: jnp.where(learned, x, y), new, old)

    after = {
        "params": kept(optax.apply_updates(params, changes), params),
        "stats": kept(stats, variables["stats"]),
    }
    metrics |= {"gradient_norm": norm, "skipped": 1.0 - fine.astype(jnp.float32)}
    return after, kept(moved, opt_state), metrics
